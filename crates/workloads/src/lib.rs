//! Generators, drivers, peers, reports: clients only, they speak to servers over the wire.
//!
//! Workloads: data and statements ([`bookstore`], [`star`], [`tpch`]), the clients that send them ([`client`]), the ways to
//! load a system with them ([`driver`]), what loads files
//! ([`loading`]), the systems ([`peers`]), what comes out ([`report`]), and the command that
//! does it all ([`mod@bench`]).

pub mod bench;
pub mod bookstore;
pub mod client;
pub mod dataset;
pub mod driver;
pub mod loading;
pub mod peers;
pub mod query;
pub mod report;
pub mod star;
pub mod tpch;
