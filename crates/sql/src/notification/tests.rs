//! The exchange by itself: order, what is said once, bounds.

use super::*;

fn mailbox(process: i32) -> Arc<Mailbox> {
    Mailbox::new(process, None)
}

fn listen(exchange: &Exchange, mailbox: &Arc<Mailbox>, channel: &str) {
    let mut said = Said::default();
    let change = exchange.listen(channel, mailbox.channel_count()).expect("there is room");
    said.change(change).expect("there is room");
    commit(exchange, Some(mailbox), said);
}

fn commit(exchange: &Exchange, mailbox: Option<&Arc<Mailbox>>, said: Said) {
    exchange.take_in(Departure::new(mailbox.cloned(), said));
    exchange.hand_over();
}

fn say(exchange: &Exchange, said: &mut Said, channel: &str, payload: &str) {
    said.notify(exchange.notification(1, channel, payload).expect("there is room"));
}

fn told(mailbox: &Mailbox) -> Vec<String> {
    let told = std::iter::from_fn(|| mailbox.take());
    told.map(|one| format!("{} {}: {}", one.process, one.channel, one.payload)).collect()
}

#[test]
fn everybody_who_listens_is_told_in_the_order_of_commits() {
    let (exchange, first, second) = (Exchange::default(), mailbox(1), mailbox(2));
    listen(&exchange, &first, "a");
    listen(&exchange, &second, "a");
    listen(&exchange, &second, "b");
    for (channel, payload) in [("a", "1"), ("b", "2"), ("c", "3"), ("a", "4")] {
        let mut said = Said::default();
        say(&exchange, &mut said, channel, payload);
        exchange.take_in(Departure::new(None, said));
    }
    exchange.hand_over();
    assert_eq!(told(&first), ["1 a: 1", "1 a: 4"]);
    assert_eq!(told(&second), ["1 a: 1", "1 b: 2", "1 a: 4"]);
    assert!(!first.is_filled() && !second.is_filled());
}

#[test]
fn a_transaction_says_equal_things_once_and_forgets_what_is_rolled_back() {
    let (exchange, own) = (Exchange::default(), mailbox(1));
    listen(&exchange, &own, "a");
    let mut said = Said::default();
    say(&exchange, &mut said, "a", "x");
    let mark = said.mark();
    say(&exchange, &mut said, "a", "x");
    say(&exchange, &mut said, "a", "y");
    said.return_to(mark);
    say(&exchange, &mut said, "a", "z");
    say(&exchange, &mut said, "a", "y");
    commit(&exchange, Some(&own), said);
    assert_eq!(told(&own), ["1 a: x", "1 a: z", "1 a: y"]);
    assert_eq!(exchange.notifications_taken(), 0, "all is given back");
}

#[test]
fn who_no_longer_listens_is_not_told_what_waits() {
    let (exchange, own) = (Exchange::default(), mailbox(1));
    listen(&exchange, &own, "a");
    listen(&exchange, &own, "b");
    let mut said = Said::default();
    say(&exchange, &mut said, "a", "x");
    say(&exchange, &mut said, "b", "y");
    commit(&exchange, None, said);
    let mut said = Said::default();
    said.change(Change::Unlisten("a".into())).expect("there is room");
    commit(&exchange, Some(&own), said);
    assert_eq!(told(&own), ["1 b: y"]);
    assert_eq!(own.channels(), ["b".into()]);
    let mut said = Said::default();
    say(&exchange, &mut said, "b", "z");
    commit(&exchange, None, said);
    exchange.leave(&own);
    assert!(told(&own).is_empty() && own.channels().is_empty());
    assert_eq!((exchange.notifications_taken(), exchange.listened_taken()), (0, 0));
}

/// Counts how often it is rung, and whether its mailbox was closed.
#[derive(Debug, Default)]
struct Counted {
    rung: AtomicUsize,
    overrun: AtomicUsize,
}

impl Bell for Counted {
    fn ring(&self) {
        self.rung.fetch_add(1, Ordering::Relaxed);
    }

    fn overrun(&self) {
        self.overrun.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn who_does_not_read_is_told_to_go_and_holds_up_nobody() {
    let (exchange, bell) = (Exchange::default(), Arc::new(Counted::default()));
    let slow = Mailbox::new(1, Some(bell.clone()));
    listen(&exchange, &slow, "a");
    let payload = "x".repeat(PAYLOAD_LIMIT - 10);
    for number in 0..10_000 {
        let mut said = Said::default();
        say(&exchange, &mut said, "a", &format!("{number}{payload}"));
        commit(&exchange, None, said);
    }
    let rung = bell.rung.load(Ordering::Relaxed);
    assert!((1000..1100).contains(&rung), "about 8 MiB: {rung}");
    assert_eq!(bell.overrun.load(Ordering::Relaxed), 1, "it is told once");
    assert!(slow.take().is_none());
    assert_eq!(exchange.notifications_taken(), 0, "nothing is kept for it");
}

#[test]
fn one_transaction_is_not_too_much_for_whoever_reads() {
    let (exchange, own) = (Exchange::default(), mailbox(1));
    listen(&exchange, &own, "a");
    let mut said = Said::default();
    for number in 0..100_000 {
        say(&exchange, &mut said, "a", &number.to_string());
    }
    commit(&exchange, Some(&own), said);
    assert_eq!(told(&own).len(), 100_000);
}

#[test]
fn names_payloads_and_numbers_are_bounded() {
    let exchange = Exchange::default();
    let fault = |channel: &str, payload: &str| {
        let given = exchange.notification(1, channel, payload);
        given.map(drop).expect_err("it is refused")
    };
    assert_eq!(fault("", "x"), invalid("channel name cannot be empty"));
    assert_eq!(fault(&"c".repeat(64), "x"), invalid("channel name too long"));
    assert_eq!(fault("c", &"x".repeat(8000)), invalid("payload string too long"));
    assert!(exchange.notification(1, &"c".repeat(63), &"x".repeat(7999)).is_ok());
    let mut said = Said::default();
    let full = loop {
        let payload = format!("{}{}", said.mark().notifications, "x".repeat(7990));
        match exchange.notification(1, "c", &payload) {
            Ok(notification) => said.notify(notification),
            Err(fault) => break fault,
        }
    };
    assert_eq!(full.state, SqlState::ProgramLimit);
    drop(said);
    assert!(exchange.notification(1, "c", "x").is_ok(), "what was rolled back is forgotten");
    assert_eq!(
        exchange.listen("c", 1 << 20).expect_err("full").state,
        SqlState::InsufficientResources
    );
    assert_eq!(exchange.listened_taken(), 0);
}
