//! Reading `.spec` files.

use std::collections::HashMap;

/// A step of a permutation.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The step's name.
    pub step: String,
    /// `(*)`: it counts as waiting at once.
    pub waits: bool,
    /// It is not told to be over before these are.
    pub after: Vec<String>,
}

/// One session's part.
#[derive(Debug, Default)]
pub struct Actor {
    pub name: String,
    pub setup: Option<String>,
    pub teardown: Option<String>,
    pub steps: Vec<String>,
}

/// A specification.
#[derive(Debug, Default)]
pub struct Spec {
    pub setups: Vec<String>,
    pub teardown: Option<String>,
    pub sessions: Vec<Actor>,
    /// By name: the session's number, and the text.
    pub steps: HashMap<String, (usize, String)>,
    listed: Vec<Vec<Turn>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Sql(String),
    Sign(char),
}

fn tokens(text: &str) -> Vec<Token> {
    let (mut rest, mut tokens) = (text, Vec::new());
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '{' => {
                let end = rest.find('}').expect("a block ends");
                (Some(Token::Sql(rest[1..end].trim_matches([' ', '\t']).to_owned())), end + 1)
            }
            '"' => {
                let end = 1 + rest[1..].find('"').expect("a name ends");
                (Some(Token::Word(rest[1..end].to_owned())), end + 1)
            }
            c if c.is_alphanumeric() || c == '_' => {
                let is_part = |c: char| c.is_alphanumeric() || "_.-".contains(c);
                let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                (Some(Token::Word(rest[..end].to_owned())), end)
            }
            c if c.is_whitespace() => (None, c.len_utf8()),
            c => (Some(Token::Sign(c)), c.len_utf8()),
        };
        tokens.extend(token);
        rest = &rest[length..];
    }
    tokens
}

impl Spec {
    pub fn parse(text: &str) -> Result<Spec, String> {
        let mut tokens = tokens(text).into_iter().peekable();
        let mut spec = Spec::default();
        let fault = |at: &str| format!("the spec cannot be read at {at}");
        while let Some(token) = tokens.next() {
            let Token::Word(word) = token else { return Err(fault(&format!("{token:?}"))) };
            match (word.as_str(), tokens.next()) {
                ("setup", Some(Token::Sql(sql))) => match spec.sessions.last_mut() {
                    Some(session) => session.setup = Some(sql),
                    None => spec.setups.push(sql),
                },
                ("teardown", Some(Token::Sql(sql))) => match spec.sessions.last_mut() {
                    Some(session) => session.teardown = Some(sql),
                    None => spec.teardown = Some(sql),
                },
                ("session", Some(Token::Word(name))) => {
                    spec.sessions.push(Actor { name, ..Actor::default() });
                }
                ("step", Some(Token::Word(name))) => {
                    let Some(Token::Sql(sql)) = tokens.next() else { return Err(fault(&name)) };
                    let number = spec.sessions.len() - 1;
                    spec.sessions[number].steps.push(name.clone());
                    spec.steps.insert(name, (number, sql));
                }
                ("permutation", Some(Token::Word(first))) => {
                    let mut turns = vec![turn(first, &mut tokens)];
                    let keywords = ["permutation", "session", "setup", "teardown", "step"];
                    while let Some(Token::Word(next)) = tokens.peek().cloned()
                        && !keywords.contains(&next.as_str())
                    {
                        tokens.next();
                        turns.push(turn(next, &mut tokens));
                    }
                    spec.listed.push(turns);
                }
                (_, other) => return Err(fault(&format!("{word} {other:?}"))),
            }
        }
        Ok(spec)
    }

    /// Those that it lists, else all orders in which its sessions' steps can come.
    pub fn permutations(&self) -> Vec<Vec<Turn>> {
        if !self.listed.is_empty() {
            return self.listed.clone();
        }
        let (mut all, mut places) = (Vec::new(), vec![0; self.sessions.len()]);
        self.orders(&mut Vec::new(), &mut places, &mut all);
        all
    }

    fn orders(&self, before: &mut Vec<Turn>, places: &mut Vec<usize>, all: &mut Vec<Vec<Turn>>) {
        let mut is_whole = true;
        for (number, session) in self.sessions.iter().enumerate() {
            if let Some(step) = session.steps.get(places[number]) {
                is_whole = false;
                before.push(Turn { step: step.clone(), waits: false, after: Vec::new() });
                places[number] += 1;
                self.orders(before, places, all);
                places[number] -= 1;
                before.pop();
            }
        }
        if is_whole {
            all.push(before.clone());
        }
    }
}

fn turn(step: String, tokens: &mut std::iter::Peekable<std::vec::IntoIter<Token>>) -> Turn {
    let mut turn = Turn { step, waits: false, after: Vec::new() };
    if tokens.peek() != Some(&Token::Sign('(')) {
        return turn;
    }
    for token in tokens.by_ref() {
        match token {
            Token::Sign(')') => break,
            Token::Sign('*') => turn.waits = true,
            Token::Word(word) => turn.after.push(word),
            Token::Sign(_) | Token::Sql(_) => {}
        }
    }
    turn
}
