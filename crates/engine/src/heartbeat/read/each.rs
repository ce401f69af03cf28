//! A parallel loop over a few large items: each becomes a result, by whoever is free.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::pool::{Loop, Pool};

struct Each<T, R> {
    /// `None` once taken.
    items: Vec<Mutex<Option<T>>>,
    next: AtomicUsize,
    work: Box<dyn Fn(T) -> R + Send + Sync>,
    /// By item.
    done: Vec<Mutex<Option<R>>>,
}

impl<T: Send, R: Send> Loop for Each<T, R> {
    fn has_work(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.items.len()
    }

    fn help(&self, leave: &dyn Fn() -> bool) {
        while self.has_work() && !leave() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = self.items.get(number).and_then(|item| item.lock().take()) else {
                return;
            };
            let result = (self.work)(item);
            *self.done[number].lock() = Some(result);
        }
    }
}

/// What `work` makes of each item, in the order of the items. Panics if it does.
pub fn each<T: Send + 'static, R: Send + 'static>(
    pool: &Pool,
    items: Vec<T>,
    work: impl Fn(T) -> R + Send + Sync + 'static,
) -> Vec<R> {
    let each = Arc::new(Each {
        done: items.iter().map(|_| Mutex::new(None)).collect(),
        items: items.into_iter().map(|item| Mutex::new(Some(item))).collect(),
        next: AtomicUsize::new(0),
        work: Box::new(work),
    });
    pool.run(each.clone());
    let results = each.done.iter().map(|result| result.lock().take());
    results.map(|result| result.expect("the loop has run to its end")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_items() {
        let pool = Pool::default();
        let doubled = each(&pool, (0..100).collect(), |item: usize| item * 2);
        assert_eq!(doubled, (0..100).map(|item| item * 2).collect::<Vec<_>>());
    }
}
