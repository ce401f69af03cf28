//! What must hold of each type's forms among themselves, without a server.

use std::cmp::Ordering;

use values::datum::Datum;
use values::form::{FORMS, Form};

use crate::odd;

fn data(form: &Form) -> Vec<Datum> {
    let texts = odd::values(form.type_name).into_iter().filter(|text| *text != "\\N");
    texts.map(|text| (form.parse)(text).expect("odd values are values")).collect()
}

fn text(form: &Form, datum: &Datum) -> String {
    let mut text = String::new();
    (form.write)(datum, &mut text);
    text
}

fn key(form: &Form, datum: &Datum) -> Vec<u8> {
    let mut key = Vec::new();
    (form.key)(datum, &mut key);
    key
}

#[test]
fn keys_compare_as_values_do() {
    for form in FORMS {
        let data = data(form);
        let keyed: Vec<_> = data.iter().map(|datum| (datum, key(form, datum))).collect();
        for (a, key) in &keyed {
            for (b, other) in &keyed {
                let name = form.type_name;
                assert_eq!(key.cmp(other), (form.compare)(a, b), "{name}: {a:?} and {b:?}");
            }
        }
    }
}

#[test]
fn no_key_of_a_numeric_begins_another() {
    let form = values::form::form("numeric").expect("a form");
    let keys: Vec<_> = data(form).iter().map(|datum| key(form, datum)).collect();
    for a in &keys {
        let longer = keys.iter().find(|b| b.len() > a.len() && b.starts_with(a));
        assert_eq!(longer, None, "the key {a:?} begins another");
    }
}

#[test]
fn values_survive_their_forms() {
    for form in FORMS {
        for datum in data(form) {
            let written = text(form, &datum);
            let read = (form.parse)(&written).expect("what is written can be read");
            assert_eq!((form.compare)(&datum, &read), Ordering::Equal, "{written}");
            let mut bytes = Vec::new();
            (form.send)(&datum, &mut bytes);
            let received = (form.receive)(&bytes).expect("what is sent can be received");
            assert_eq!(text(form, &received), written, "{} from {bytes:?}", form.type_name);
        }
    }
}

#[test]
fn cut_and_lengthened_messages_are_refused() {
    for form in FORMS
        .iter()
        .filter(|form| !["text", "varchar", "bpchar", "bytea"].contains(&form.type_name))
    {
        for datum in data(form) {
            let mut bytes = Vec::new();
            (form.send)(&datum, &mut bytes);
            let cut = (form.receive)(&bytes[..bytes.len() - 1]);
            assert!(cut.is_err(), "{} takes {bytes:?} without its end", form.type_name);
            bytes.push(0);
            let lengthened = (form.receive)(&bytes);
            assert!(lengthened.is_err(), "{} takes {bytes:?}", form.type_name);
        }
    }
}
