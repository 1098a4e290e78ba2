use crate::Case;
pub(crate) const CASES: &[Case] = &[];
