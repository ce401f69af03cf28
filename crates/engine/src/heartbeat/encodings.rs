//! Bytes that the receivers of one answer share.
//!
//! Equal activations run once ("queries as data", the SharedDB paper, section 4), and those who wait for them get the
//! same rows. Most want them in the same form, too: whoever comes first writes the rows down, the others copy his
//! pages. Nothing here outlives the answer, and an activation that came a heartbeat later never sees it. Only answers
//! with several receivers have such a place ([`super::Answer::encodings`]); what the bytes mean is the receivers' affair.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

/// Bytes of one form, at most: beyond them copying saves little of what sending costs, and each receiver writes page by page.
const FORM_BYTES: usize = 1 << 20;

/// Cells of an answer, at least: fewer are written sooner than looked up.
const CELLS: usize = 256;

/// Forms of one answer: text, binary, and one that mixes them.
const FORMS: usize = 3;

/// Bytes of all answers together, as long as somebody still reads them.
const ALL_BYTES: usize = 64 << 20;

/// Counts the bytes of all answers' pages.
#[derive(Debug, Default)]
pub(crate) struct Room(Arc<AtomicUsize>);

/// The forms that an answer was written in.
#[derive(Debug)]
pub struct Encodings {
    forms: Mutex<Vec<Form>>,
    taken: Arc<AtomicUsize>,
}

#[derive(Clone, Debug)]
struct Form {
    name: Box<[u8]>,
    /// `None` inside: too large, or faulty.
    pages: Arc<OnceLock<Option<Arc<Pages>>>>,
}

/// All rows of an answer in one form. A page ends where a row ends.
#[derive(Debug)]
pub struct Pages {
    pages: Vec<Vec<u8>>,
    bytes: usize,
    taken: Arc<AtomicUsize>,
}

impl Room {
    /// A place for the forms of an answer of so many cells; `None` where writing it is next to nothing.
    pub fn encodings(&self, cells: usize) -> Option<Arc<Encodings>> {
        (cells >= CELLS).then(|| Arc::new(Encodings::new(self.0.clone())))
    }
}

impl Encodings {
    fn new(taken: Arc<AtomicUsize>) -> Encodings {
        Encodings { forms: Mutex::default(), taken }
    }

    /// The answer in the form of that name. Who asks first makes it: `next_page` gives page after page, and `None` at
    /// the end; meanwhile others who want the same form wait. `None` where the answer is too large or a page fails: then
    /// everybody writes for himself.
    pub fn pages<E>(
        &self,
        name: &[u8],
        next_page: impl FnMut() -> Result<Option<Vec<u8>>, E>,
    ) -> Option<Arc<Pages>> {
        let form = self.form(name)?;
        form.pages.get_or_init(|| Pages::write(&self.taken, next_page)).clone()
    }

    fn form(&self, name: &[u8]) -> Option<Form> {
        let mut forms = self.forms.lock();
        if let Some(known) = forms.iter().find(|form| *form.name == *name) {
            return Some(known.clone());
        }
        if forms.len() == FORMS {
            return None;
        }
        let form = Form { name: name.into(), pages: Arc::default() };
        forms.push(form.clone());
        Some(form)
    }
}

impl Pages {
    fn write<E>(
        taken: &Arc<AtomicUsize>,
        mut next_page: impl FnMut() -> Result<Option<Vec<u8>>, E>,
    ) -> Option<Arc<Pages>> {
        // Dropped where they find no room: what is counted is given back.
        let mut written = Pages { pages: Vec::new(), bytes: 0, taken: taken.clone() };
        while let Some(page) = next_page().ok()? {
            written.bytes += page.len();
            let all = taken.fetch_add(page.len(), Ordering::Relaxed) + page.len();
            if written.bytes > FORM_BYTES || all > ALL_BYTES {
                return None;
            }
            written.pages.push(page);
        }
        Some(Arc::new(written))
    }

    /// How many pages there are.
    pub fn count(&self) -> usize {
        self.pages.len()
    }

    /// The page of that number.
    pub fn page(&self, number: usize) -> &[u8] {
        &self.pages[number]
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` pages of `bytes` bytes each.
    fn source(count: usize, bytes: usize) -> impl FnMut() -> Result<Option<Vec<u8>>, ()> {
        let mut left = count;
        move || {
            left = left.wrapping_sub(1);
            Ok((left < count).then(|| vec![left as u8; bytes]))
        }
    }

    fn never() -> Result<Option<Vec<u8>>, ()> {
        panic!("somebody has written it already")
    }

    #[test]
    fn one_writes_and_all_read() {
        let room = Room::default();
        let encodings = Encodings::new(room.0.clone());
        let first = encodings.pages(b"text", source(3, 10)).expect("there is room");
        let second = encodings.pages(b"text", never).expect("written");
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!([0, 1, 2].map(|page| first.page(page)[0]), [2, 1, 0]);
        let other = encodings.pages(b"binary", source(1, 10)).expect("there is room");
        assert_eq!(other.count(), 1);
        assert_eq!(room.0.load(Ordering::Relaxed), 40);
        drop((encodings, first, second, other));
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_is_too_large_is_left_to_each_receiver_and_not_tried_again() {
        let room = Room::default();
        let encodings = Encodings::new(room.0.clone());
        assert!(encodings.pages(b"text", source(17, FORM_BYTES / 16)).is_none());
        assert!(encodings.pages(b"text", never).is_none());
        assert_eq!(room.0.load(Ordering::Relaxed), 0);
        let full = Room::default();
        full.0.store(ALL_BYTES - 5, Ordering::Relaxed);
        assert!(Encodings::new(full.0.clone()).pages(b"text", source(1, 10)).is_none());
        assert_eq!(full.0.load(Ordering::Relaxed), ALL_BYTES - 5);
    }

    #[test]
    fn a_fault_leaves_nothing_behind() {
        let encodings = Encodings::new(Arc::default());
        let mut pages = vec![Err(()), Ok(Some(vec![1]))];
        assert!(encodings.pages(b"text", || pages.pop().expect("asked twice")).is_none());
        assert!(encodings.pages(b"text", never).is_none());
    }

    #[test]
    fn small_answers_have_no_place() {
        let room = Room::default();
        assert!(room.encodings(CELLS - 1).is_none());
        assert!(room.encodings(CELLS).is_some());
    }

    #[test]
    fn forms_are_few() {
        let encodings = Encodings::new(Arc::default());
        for form in 0..FORMS as u8 {
            assert!(encodings.pages(&[form], source(1, 1)).is_some());
        }
        assert!(encodings.pages(b"one more", never).is_none());
    }
}
