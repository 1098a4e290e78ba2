//! Placeholder.
use std::fmt::Display;
use crate::service::Service;
pub(crate) fn general(_service: &Service, _tell: &mut dyn FnMut(&str, &dyn Display)) {}
