//! The child's environment: this process's or another one, with changes.
#![allow(unsafe_code)]

use std::collections::TryReserveError;
use std::ffi::{CStr, c_char};

use crate::path;
use crate::strings::Strings;

/// An environment and changes to it.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    base: Base,
    /// Each name once, with its value if it is set and without if it is removed.
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// The environment that the changes apply to.
#[derive(Debug, Default)]
enum Base {
    /// This process's environment at the start of the child.
    #[default]
    Inherited,
    /// An explicit one, such as the empty environment.
    Given(Strings),
}

impl Environment {
    /// An environment that came from elsewhere.
    pub(crate) fn given(variables: Strings) -> Environment {
        Environment {
            base: Base::Given(variables),
            changes: Vec::new(),
        }
    }

    pub(crate) fn set(&mut self, name: &[u8], value: &[u8]) {
        self.change(name, Some(value.to_vec()));
    }

    pub(crate) fn remove(&mut self, name: &[u8]) {
        self.change(name, None);
    }

    fn change(&mut self, name: &[u8], value: Option<Vec<u8>>) {
        match self.changes.iter_mut().find(|(other, _)| other == name) {
            Some(change) => change.1 = value,
            None => self.changes.push((name.to_vec(), value)),
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Environment::given(Strings::default());
    }

    /// An invalid name, if there is any.
    pub(crate) fn wrong_name(&self) -> Option<&[u8]> {
        let wrong = |name: &Vec<u8>| name.is_empty() || name.contains(&b'=');
        let set = self.changes.iter().filter(|(_, value)| value.is_some());
        set.map(|(name, _)| name)
            .find(|name| wrong(name))
            .map(Vec::as_slice)
    }

    pub(crate) fn has_nul(&self) -> bool {
        let given = matches!(&self.base, Base::Given(variables) if variables.has_nul());
        let changed = |(name, value): &(Vec<u8>, Option<Vec<u8>>)| {
            name.contains(&0) || value.as_ref().is_some_and(|value| value.contains(&0))
        };
        given || self.changes.iter().any(changed)
    }

    fn is_changed(&self, variable: &[u8]) -> bool {
        self.changes.iter().any(|(name, _)| {
            variable
                .strip_prefix(name.as_slice())
                .is_some_and(|rest| rest.first() == Some(&b'='))
        })
    }

    /// The value of `PATH` in the child's environment.
    pub(crate) fn search_path(&self) -> &[u8] {
        if let Some((_, value)) = self.changes.iter().find(|(name, _)| name == b"PATH") {
            return value.as_deref().unwrap_or(path::DEFAULT);
        }
        let path = |one: &'_ [u8]| one.starts_with(b"PATH=");
        let variable = match &self.base {
            Base::Inherited => inherited().find(|one| path(one)),
            Base::Given(variables) => variables.iter().find(|one| path(one)),
        };
        variable.map_or(path::DEFAULT, |variable| &variable[b"PATH=".len()..])
    }

    /// This process's own environment, if the child gets it unchanged.
    pub(crate) fn unchanged(&self) -> Option<*const *const c_char> {
        // SAFETY: reads a pointer that no thread changes meanwhile, see `inherited`.
        let own = unsafe { environ };
        let inherits = matches!(self.base, Base::Inherited);
        (inherits && self.changes.is_empty() && !own.is_null()).then_some(own)
    }

    /// The whole environment, as pointers to this process's variables and to copies of the changed ones in `strings`. With
    /// `copy`, all are copied.
    pub(crate) fn build(
        &self,
        copy: bool,
        strings: &mut Strings,
    ) -> Result<Vec<*const c_char>, TryReserveError> {
        let mut pointers = Vec::new();
        let kept = |variable: &&[u8]| !self.is_changed(variable);
        match &self.base {
            Base::Inherited if copy => {
                for variable in inherited().filter(kept) {
                    strings.try_push(&[variable])?;
                }
            }
            Base::Inherited => {
                for variable in inherited().filter(kept) {
                    pointers.try_reserve(1)?;
                    pointers.push(variable.as_ptr().cast());
                }
            }
            Base::Given(variables) => {
                for variable in variables.iter().filter(kept) {
                    strings.try_push(&[variable])?;
                }
            }
        }
        for (name, value) in &self.changes {
            if let Some(value) = value {
                strings.try_push(&[name, b"=", value])?;
            }
        }
        pointers.try_reserve(strings.len() + 1)?;
        pointers.extend(strings.pointers());
        pointers.push(std::ptr::null());
        Ok(pointers)
    }
}

unsafe extern "C" {
    static mut environ: *const *const c_char;
}

/// The variables of this process.
///
/// No thread may change the environment meanwhile. That is the contract of `std::env::set_var` and `setenv`: they must not be
/// called while another thread may read the environment in any way.
fn inherited() -> impl Iterator<Item = &'static [u8]> {
    // SAFETY: as no one changes it, see above, this is null or an array of strings that ends with a null.
    let mut next = unsafe { environ };
    std::iter::from_fn(move || {
        // SAFETY: see above; iteration stops at the null. Strings have a final 0.
        unsafe {
            if next.is_null() || (*next).is_null() {
                return None;
            }
            let variable = CStr::from_ptr(*next).to_bytes();
            next = next.add(1);
            Some(variable)
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn built(environment: &Environment, copy: bool) -> Vec<Vec<u8>> {
        let mut strings = Strings::default();
        let pointers = environment.build(copy, &mut strings).unwrap();
        let (null, variables) = pointers.split_last().unwrap();
        assert!(null.is_null());
        // SAFETY: `build` says that they are strings; `strings` lives.
        let text = |pointer: &*const c_char| unsafe { CStr::from_ptr(*pointer) }.to_bytes().to_vec();
        variables.iter().map(text).collect()
    }

    #[test]
    fn changes_replace_and_remove() {
        let mut environment = Environment::default();
        assert_eq!(built(&environment, false), built(&environment, true));
        environment.remove(b"PATH");
        assert_eq!(environment.search_path(), path::DEFAULT);
        environment.set(b"PATH", b"/nowhere");
        environment.set(b"PATHS", b"");
        let all = built(&environment, false);
        let paths: Vec<_> = all.iter().filter(|one| one.starts_with(b"PATH")).collect();
        assert_eq!(paths, [b"PATH=/nowhere".as_slice(), b"PATHS="]);
        assert_eq!(environment.search_path(), b"/nowhere");
    }

    #[test]
    fn a_cleared_environment_has_what_was_set_since() {
        let mut environment = Environment::default();
        environment.set(b"A", b"1");
        environment.clear();
        environment.set(b"B", b"2");
        assert_eq!(built(&environment, false), [b"B=2"]);
        assert_eq!(environment.search_path(), path::DEFAULT);
        assert_eq!(environment.wrong_name(), None);
        environment.set(b"C=D", b"");
        assert_eq!(environment.wrong_name(), Some(b"C=D".as_slice()));
    }
}
