//! memcached's protocols: vectors in files, properties of any input, and both directions against each other.

mod binary;
mod client;
mod describe;
mod properties;
mod text;
mod vectors;
