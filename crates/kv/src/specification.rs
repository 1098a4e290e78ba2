//! From a store's name to the store.

use crate::{Error, Notice, Store};

/// What a name says about a store, before the store exists.
///
/// ```no_run
/// let mut specification = kv::Specification::parse("memory:?capacity=25%")?;
/// specification.set("item_size_max", "2MiB")?;
/// let store = specification.open()?;
/// # Ok::<(), kv::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Specification {}

impl Specification {
    /// Reads a URI (`memory:?capacity=1GiB&item_size_max=2MiB`) or a Tokyo Cabinet name (`*#capsiz=1024m`).
    pub fn parse(_uri: &str) -> Result<Self, Error> {
        unimplemented!()
    }
    /// Sets one key, as a configuration file does.
    pub fn set(&mut self, _key: &str, _value: &str) -> Result<(), Error> {
        unimplemented!()
    }
    /// What should be said once.
    pub fn notices(&self) -> &[Notice] {
        unimplemented!()
    }
    /// Builds the store.
    pub fn open(&self) -> Result<Store, Error> {
        unimplemented!()
    }
}
