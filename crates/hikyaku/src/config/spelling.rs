//! Proposals for words that were misspelt.

/// The half of a fault that says what would be right instead of `word`.
pub(crate) fn remedy<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    if let Some(near) = nearest(word, &known) {
        return format!("did you mean {near:?}?");
    }
    match known.as_slice() {
        [] => "remove it".to_owned(),
        [only] => format!("{only:?} is the one that exists"),
        [rest @ .., last] => format!("known are {} and {last}", rest.join(", ")),
    }
}

/// The known word that is closest, if it is close enough for a slip of the hand.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let slips_max = 1 + word.chars().count() / 4;
    let near = |other: &&str| strsim::damerau_levenshtein(word, other);
    known
        .iter()
        .copied()
        .min_by_key(near)
        .filter(|best| near(best) <= slips_max)
}

#[cfg(test)]
mod tests {
    use super::remedy;

    #[test]
    fn slips_find_the_word() {
        let known = ["address", "protocol", "tls"];
        assert_eq!(remedy("adress", known.into_iter()), "did you mean \"address\"?");
        assert_eq!(remedy("tsl", known.into_iter()), "did you mean \"tls\"?");
    }

    #[test]
    fn other_words_get_the_list() {
        assert_eq!(
            remedy("colour", ["address", "protocol", "tls"].into_iter()),
            "known are address, protocol and tls"
        );
        assert_eq!(
            remedy("colour", ["default"].into_iter()),
            "\"default\" is the one that exists"
        );
    }
}
