//! Who may come in from where, and how: rules in a file, as PostgreSQL's `pg_hba.conf` has them.
//!
//! A line is `local database user method` or `host|hostssl|hostnossl database user address method`; the first that fits
//! decides, and where none does nobody comes in. The file is read strictly: a line that is not understood refuses all of it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use engine::types::{Error, Result, SqlState};

/// Bytes that a file of rules may have.
const FILE_LIMIT: usize = 1 << 20;

/// What decides about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// It comes in without more.
    Trust,
    /// It does not.
    Reject,
    /// It proves a password.
    Scram,
}

/// A connection that wants in.
#[derive(Clone, Copy, Debug)]
pub struct Visitor<'a> {
    /// Where it comes from; `None` for no network.
    pub peer: Option<IpAddr>,
    /// Over TLS.
    pub is_encrypted: bool,
    /// As whom.
    pub user: &'a str,
    /// To which database.
    pub database: &'a str,
}

/// The rules of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    transport: Transport,
    databases: Vec<Word>,
    users: Vec<Word>,
    address: Address,
    method: Method,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Local,
    Any,
    Encrypted,
    Plain,
}

/// A word of a line; what was quoted is no keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    quoted: bool,
}

impl Word {
    fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.text == keyword
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Address {
    All,
    Net(IpAddr, u8),
}

impl Rules {
    /// Reads a file's text. The error says which line is wrong.
    pub fn parse(text: &str) -> Result<Rules> {
        if text.len() > FILE_LIMIT {
            return Err(broken(1, "the file is too large"));
        }
        let mut rules = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let fields = fields(line).map_err(|why| broken(number, why))?;
            if !fields.is_empty() {
                rules.push(rule(&fields).map_err(|why| broken(number, &why))?);
            }
        }
        Ok(Rules(rules))
    }

    /// What the first rule that fits says; `None` where none does. `is_member` says whether the user is a member of a role.
    pub fn decide(&self, visitor: Visitor<'_>, is_member: &dyn Fn(&str) -> bool) -> Option<Method> {
        self.0.iter().find(|rule| rule.fits(visitor, is_member)).map(|rule| rule.method)
    }
}

impl Rule {
    fn fits(&self, visitor: Visitor<'_>, is_member: &dyn Fn(&str) -> bool) -> bool {
        let transport = match (self.transport, visitor.peer) {
            (Transport::Local, None) => true,
            (Transport::Local, Some(_)) | (_, None) => false,
            (Transport::Any, _) => true,
            (Transport::Encrypted, _) => visitor.is_encrypted,
            (Transport::Plain, _) => !visitor.is_encrypted,
        };
        let address = match (self.address, visitor.peer) {
            (Address::All, _) => true,
            (Address::Net(net, bits), Some(peer)) => is_in(peer.to_canonical(), net, bits),
            (Address::Net(..), None) => false,
        };
        let user = |word: &Word| {
            let role = word.text.strip_prefix('+').filter(|_| !word.quoted);
            match role {
                Some(role) => role == visitor.user || is_member(role),
                None => word.is("all") || word.text == visitor.user,
            }
        };
        let database = |word: &Word| {
            word.is("all")
                || word.is("sameuser") && visitor.user == visitor.database
                || (word.is("samerole") || word.is("samegroup"))
                    && (visitor.user == visitor.database || is_member(visitor.database))
                || !word.is("replication") && word.text == visitor.database
        };
        transport && address && self.databases.iter().any(database) && self.users.iter().any(user)
    }
}

fn is_in(peer: IpAddr, net: IpAddr, bits: u8) -> bool {
    match (peer, net) {
        (IpAddr::V4(peer), IpAddr::V4(net)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            u32::from(peer) & mask == u32::from(net) & mask
        }
        (IpAddr::V6(peer), IpAddr::V6(net)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            u128::from(peer) & mask == u128::from(net) & mask
        }
        _ => false,
    }
}

fn broken(line: usize, why: &str) -> Error {
    let message = format!("the file of host rules is wrong in line {line}: {why}");
    Error::new(SqlState::ConfigurationFile, message)
}

/// The fields of a line, each a list of words.
fn fields(line: &str) -> Result<Vec<Vec<Word>>, &'static str> {
    let mut fields: Vec<Vec<Word>> = Vec::new();
    let mut characters = line.chars().peekable();
    let mut continues = false;
    loop {
        while characters.next_if(|c| c.is_whitespace()).is_some() {}
        match characters.peek() {
            None | Some('#') => break,
            Some(',') => return Err("a list lacks a word"),
            Some(_) => {}
        }
        let word = word(&mut characters)?;
        match fields.last_mut().filter(|_| continues) {
            Some(list) => list.push(word),
            None => fields.push(vec![word]),
        }
        while characters.next_if(|c| c.is_whitespace()).is_some() {}
        continues = characters.next_if_eq(&',').is_some();
    }
    if continues { Err("a list lacks a word") } else { Ok(fields) }
}

fn word(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Word, &'static str> {
    let mut word = Word { text: String::new(), quoted: false };
    let mut inside = false;
    while let Some(character) = characters.peek().copied() {
        match character {
            '"' => {
                inside = !inside;
                word.quoted = true;
            }
            c if !inside && (c.is_whitespace() || c == ',' || c == '#') => break,
            c => word.text.push(c),
        }
        characters.next();
    }
    if inside { Err("a quote is not closed") } else { Ok(word) }
}

fn rule(fields: &[Vec<Word>]) -> Result<Rule, String> {
    let single = |place: usize| match fields.get(place).map(Vec::as_slice) {
        Some([word]) => Ok(word.text.as_str()),
        Some(_) => Err("a list where one word is wanted".to_owned()),
        None => Err("too few fields".to_owned()),
    };
    let transport = match single(0)? {
        "local" => Transport::Local,
        "host" => Transport::Any,
        "hostssl" => Transport::Encrypted,
        "hostnossl" => Transport::Plain,
        other => return Err(format!("\"{other}\" is no kind of connection")),
    };
    let [_, databases, users, ..] = fields else { return Err("too few fields".to_owned()) };
    if let Some(word) = users.iter().chain(databases).find(|word| is_unknown(word)) {
        return Err(format!("\"{}\" is not supported", word.text));
    }
    let (address, at) = match transport {
        Transport::Local => (Address::All, 3),
        _ => address(single(3)?, fields.get(4).and_then(|field| field.first()))?,
    };
    let method = match single(at)? {
        "trust" => Method::Trust,
        "reject" => Method::Reject,
        "scram-sha-256" => Method::Scram,
        other => return Err(format!("\"{other}\" is no method: trust, reject, scram-sha-256")),
    };
    if fields.len() > at + 1 {
        return Err("too many fields".to_owned());
    }
    let (databases, users) = (databases.clone(), users.clone());
    Ok(Rule { transport, databases, users, address, method })
}

/// Other files and patterns.
fn is_unknown(word: &Word) -> bool {
    !word.quoted
        && (word.text.starts_with('@') || word.text.starts_with('/') || word.text.is_empty())
}

/// An address, and the place of the field behind it: `10.0.0.0/8`, or `10.0.0.0 255.0.0.0`.
fn address(text: &str, next: Option<&Word>) -> Result<(Address, usize), String> {
    if text == "all" {
        return Ok((Address::All, 4));
    }
    let wrong = || format!("\"{text}\" is no address: all, 10.0.0.0/8, fd00::/8");
    if let Some((net, bits)) = text.split_once('/') {
        let net: IpAddr = net.parse().map_err(|_| wrong())?;
        let most = if net.is_ipv4() { 32 } else { 128 };
        let bits: u8 = bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(wrong)?;
        return Ok((Address::Net(net, bits), 4));
    }
    let net: IpAddr = text.parse().map_err(|_| wrong())?;
    let mask = next.and_then(|word| word.text.parse::<IpAddr>().ok());
    let missing = || format!("\"{text}\" lacks a mask: write {text}/32");
    let bits = match (net, mask.ok_or_else(missing)?) {
        (IpAddr::V4(_), IpAddr::V4(mask)) => contiguous_v4(mask),
        (IpAddr::V6(_), IpAddr::V6(mask)) => contiguous_v6(mask),
        _ => None,
    };
    Ok((Address::Net(net, bits.ok_or_else(|| "the mask is no mask".to_owned())?), 5))
}

fn contiguous_v4(mask: Ipv4Addr) -> Option<u8> {
    let bits = u32::from(mask);
    (bits.leading_ones() + bits.trailing_zeros() >= 32).then_some(bits.leading_ones() as u8)
}

fn contiguous_v6(mask: Ipv6Addr) -> Option<u8> {
    let bits = u128::from(mask);
    (bits.leading_ones() + bits.trailing_zeros() >= 128).then_some(bits.leading_ones() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
        # type     database  user        address         method
        local      all       all                         trust
        hostssl    all       +staff,ann  10.0.0.0/8      scram-sha-256
        hostnossl  all       all         10.0.0.0 255.0.0.0 reject  # not in clear
        host       shareddb  \"all\"     all             reject
        host       sameuser  all         fd00::/8        trust
        host       all       bob         127.0.0.1/32    trust
    ";

    fn decided(peer: &str, is_encrypted: bool, user: &str, database: &str) -> Option<Method> {
        let rules = Rules::parse(FILE).expect("a file");
        let peer = peer.parse().ok();
        let visitor = Visitor { peer, is_encrypted, user, database };
        rules.decide(visitor, &|role| role == "staff" && user == "sue")
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let cases = [
            ("", false, "x", "shareddb", Some(Method::Trust)),
            ("10.1.2.3", true, "sue", "shareddb", Some(Method::Scram)),
            ("10.1.2.3", true, "ann", "shareddb", Some(Method::Scram)),
            ("10.1.2.3", true, "eve", "shareddb", None),
            ("10.1.2.3", false, "ann", "shareddb", Some(Method::Reject)),
            ("192.168.0.1", false, "all", "shareddb", Some(Method::Reject)),
            ("fd00::1", false, "x", "x", Some(Method::Trust)),
            ("fd00::1", false, "x", "shareddb", None),
            ("::ffff:127.0.0.1", false, "bob", "shareddb", Some(Method::Trust)),
            ("127.0.0.2", false, "bob", "shareddb", None),
        ];
        for (peer, is_encrypted, user, database, wanted) in cases {
            let found = decided(peer, is_encrypted, user, database);
            assert_eq!(found, wanted, "{peer} {is_encrypted} {user} {database}");
        }
    }

    #[test]
    fn a_line_that_is_not_understood_refuses_the_file() {
        let lines = [
            "host all all 10.0.0.0/33 trust",
            "host all all 10.0.0.0 trust",
            "host all all 10.0.0.0 255.0.255.0 trust",
            "host all all example.com trust",
            "host all all all md5",
            "host all all all trust more",
            "host all all all",
            "guest all all all trust",
            "host all, all all trust",
            "host all @file all trust",
            "host all \"a all trust",
            "local all all",
        ];
        for line in lines {
            let fault = Rules::parse(&format!("# first\n{line}")).expect_err(line);
            assert!(fault.message.contains("line 2"), "{line}: {fault}");
        }
        assert_eq!(Rules::parse("# nothing\n\n"), Ok(Rules::default()));
    }
}
