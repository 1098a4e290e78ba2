//! The tables of the articles, measured again.
