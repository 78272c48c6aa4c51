//! Nothing but an example.
