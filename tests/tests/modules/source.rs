//! What one file of Rust imports: its tokens without comments, literals and tests, and the paths among them.

/// One name that a `use` brings into scope, with the path that it stands for. The name of a glob is `*`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
}

/// The parts of a file that name other modules.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The modules that it declares without a body.
    pub(crate) children: Vec<String>,
    pub(crate) imports: Vec<Import>,
    /// Paths in code.
    pub(crate) paths: Vec<Vec<String>>,
}

impl Source {
    pub(crate) fn parse(text: &str) -> Source {
        let tokens = without_tests(&tokens(text));
        let mut source = Source::default();
        let mut at = 0;
        while at < tokens.len() {
            let next = |ahead: usize| tokens.get(at + ahead).map_or("", String::as_str);
            match tokens[at].as_str() {
                "use" if next(1) != "<" => {
                    at = use_tree(&tokens, at + 1, &[], &mut source.imports);
                }
                "mod" if next(2) == ";" => {
                    source.children.push(next(1).to_owned());
                    at += 3;
                }
                _ if is_name(next(0)) && next(1) == "::" => {
                    let mut path = vec![tokens[at].clone()];
                    at += 1;
                    while at + 1 < tokens.len() && tokens[at] == "::" && is_name(&tokens[at + 1]) {
                        path.push(tokens[at + 1].clone());
                        at += 2;
                    }
                    source.paths.push(path);
                }
                _ => at += 1,
            }
        }
        source
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Reads one tree of a `use` after `prefix`; returns the position behind it.
fn use_tree(tokens: &[String], mut at: usize, prefix: &[String], imports: &mut Vec<Import>) -> usize {
    let mut path = prefix.to_vec();
    while at < tokens.len() {
        match tokens[at].as_str() {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    at = use_tree(tokens, at, &path, imports);
                    at += usize::from(tokens[at] == ",");
                }
                return at + 1;
            }
            "as" => {
                let name = tokens[at + 1].clone();
                imports.push(Import { name, path });
                return at + 2;
            }
            // The end of a tree that named one item. After a brace or an alias, the tree has returned already.
            "," | "}" | ";" => {
                if path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                if let Some(name) = path.last().cloned() {
                    imports.push(Import { name, path });
                }
                return at;
            }
            other => {
                path.push(other.to_owned());
                at += 1;
            }
        }
    }
    at
}

/// Names, `::` and single signs, without comments, strings, characters and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment(rest),
            '"' => string(rest),
            'r' | 'b' | 'c' if literal(rest).is_some() => literal(rest).unwrap_or(1),
            '\'' => character(rest),
            _ if first.is_alphanumeric() || first == '_' => {
                let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
                let end = end.unwrap_or(rest.len());
                tokens.push(rest[..end].to_owned());
                end
            }
            ':' if rest.starts_with("::") => {
                tokens.push("::".to_owned());
                2
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                tokens.push(first.to_string());
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of a block comment, which may contain others.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// The length of a string that begins with its quotation mark.
fn string(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of a literal with a prefix, such as `b"…"`, `br#"…"#` or `b'…'`; `None` if a name begins here.
fn literal(text: &str) -> Option<usize> {
    let prefix = text.find(|next: char| !matches!(next, 'r' | 'b' | 'c'))?;
    let rest = &text[prefix..];
    if prefix > 2 {
        return None;
    }
    if rest.starts_with('\'') {
        return Some(prefix + character(rest));
    }
    if !text[..prefix].contains('r') {
        return rest.starts_with('"').then(|| prefix + string(rest));
    }
    let hashes = rest.find(|next| next != '#')?;
    if !rest[hashes..].starts_with('"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let body = prefix + hashes + 1;
    Some(body + text[body..].find(&end)? + end.len())
}

/// The length of a character, or of the mark that begins a lifetime.
fn character(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), _) => text[3..].find('\'').map_or(1, |end| end + 4),
        (_, Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

/// Leaves out each item that is compiled for tests only.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let attribute = (tokens[at] == "#").then(|| closing(tokens, at + 1));
        let Some(end) = attribute.filter(|_| tokens.get(at + 1).is_some_and(|next| next == "[")) else {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        };
        let words = &tokens[at + 2..end];
        let has = |word: &str| words.iter().any(|token| token == word);
        at = end + 1;
        if words[0] == "cfg" && has("test") && !has("not") {
            at = item_end(tokens, at);
        }
    }
    kept
}

/// The position behind an item, its attributes included.
fn item_end(tokens: &[String], mut at: usize) -> usize {
    while at < tokens.len() {
        match tokens[at].as_str() {
            ";" => return at + 1,
            "{" => return closing(tokens, at) + 1,
            "[" | "(" => at = closing(tokens, at) + 1,
            _ => at += 1,
        }
    }
    at
}

/// The position of the bracket that closes the one at `at`.
fn closing(tokens: &[String], at: usize) -> usize {
    let mut depth = 0;
    for (position, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return position;
        }
    }
    tokens.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn every_form_of_import_is_read() {
        let source = Source::parse(
            "use crate::a::{self, b, c::{D, E as F}, *};\nuse super::g;\nuse self::h as i;\npub(crate) use ::j::K;",
        );
        let found: Vec<(String, String)> = source
            .imports
            .into_iter()
            .map(|import| (import.name, import.path.join("::")))
            .collect();
        let expected = [
            ("a", "crate::a"),
            ("b", "crate::a::b"),
            ("D", "crate::a::c::D"),
            ("F", "crate::a::c::E"),
            ("*", "crate::a::*"),
            ("g", "super::g"),
            ("i", "self::h"),
            ("K", "j::K"),
        ];
        assert_eq!(
            found,
            expected.map(|(name, path)| (name.to_owned(), path.to_owned()))
        );
    }

    #[test]
    fn only_code_has_paths() {
        let source = Source::parse(
            r##"
            mod child;
            mod inline { fn f() -> impl Sized + use<> { crate::seen::x::<u8>() } }
            // crate::comment::x
            /* crate::block /* crate::nested::x */ ::x */
            const A: (&str, &str, u8) = ("crate::string::x \" ", r#"crate::raw::x " "#, b'\'');
            fn f<'a>(x: &'a str) -> char { let y = '"'; super::after::z(x); y }
            #[cfg(test)]
            #[derive(Debug)]
            struct Only([crate::attribute::X; 3]);
            #[cfg(test)]
            mod tests { use crate::test::x; }
            #[cfg(not(test))]
            use crate::kept::x;
            "##,
        );
        assert_eq!(source.children, ["child"]);
        assert_eq!(source.paths, [words("crate::seen::x"), words("super::after::z")]);
        assert_eq!(source.imports.len(), 1);
        assert_eq!(source.imports[0].path, words("crate::kept::x"));
    }
}
