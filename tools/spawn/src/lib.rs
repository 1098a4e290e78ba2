//! Processes: started fast, with every guarantee.
