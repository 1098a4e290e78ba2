//! The client's side: requests to bytes, bytes to replies.
