//! The machine and the process: cores, open files, users.

mod cgroup;
pub(crate) mod files;
pub(crate) mod privileges;
pub(crate) mod workers;
