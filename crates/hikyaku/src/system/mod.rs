//! What the machine allows and who the process is: cores, open files, users.

mod cgroup;
pub(crate) mod files;
pub(crate) mod privileges;
pub(crate) mod workers;
