//! A small number for each place of a dimension, in as few bits as the largest needs: look-ups in the order of a fact table
//! wait for memory, and the fewer the bits the more of them lie in the core's own caches.

/// The numbers, by place.
#[derive(Debug)]
pub(super) enum ByPlace {
    /// 0 and 1: 64 to a word.
    Bits1(Vec<u64>, usize),
    Bits8(Vec<u8>),
    Bits16(Vec<u16>),
    Bits32(Vec<u32>),
}

/// Evaluates an expression in which `$number` gives the number of a place: a loop in it is compiled once for each width.
macro_rules! each_number {
    ($by_place:expr, $number:ident => $body:expr) => {
        match $by_place {
            $crate::operators::star::by_place::ByPlace::Bits1(words, _) => {
                let $number = |place: u32| (words[place as usize / 64] >> (place % 64) & 1) as u32;
                $body
            }
            $crate::operators::star::by_place::ByPlace::Bits8(numbers) => {
                let $number = |place: u32| u32::from(numbers[place as usize]);
                $body
            }
            $crate::operators::star::by_place::ByPlace::Bits16(numbers) => {
                let $number = |place: u32| u32::from(numbers[place as usize]);
                $body
            }
            $crate::operators::star::by_place::ByPlace::Bits32(numbers) => {
                let $number = |place: u32| numbers[place as usize];
                $body
            }
        }
    };
}
pub(super) use each_number;

impl ByPlace {
    /// Packs numbers.
    pub fn new<T: Copy + Into<u32>>(numbers: &[T]) -> ByPlace {
        let all = numbers.iter().map(|&number| number.into());
        match all.clone().max().unwrap_or(0) {
            0..=1 => ByPlace::Bits1(numbers.chunks(64).map(word).collect(), numbers.len()),
            2..=0xFF => ByPlace::Bits8(all.map(|number| number as u8).collect()),
            0x100..=0xFFFF => ByPlace::Bits16(all.map(|number| number as u16).collect()),
            _ => ByPlace::Bits32(all.collect()),
        }
    }

    /// How many places there are.
    pub fn len(&self) -> usize {
        match self {
            ByPlace::Bits1(_, places) => *places,
            ByPlace::Bits8(numbers) => numbers.len(),
            ByPlace::Bits16(numbers) => numbers.len(),
            ByPlace::Bits32(numbers) => numbers.len(),
        }
    }

    /// The number of a place.
    pub fn get(&self, place: u32) -> u32 {
        each_number!(self, number => number(place))
    }
}

/// Up to 64 numbers, which are 0 or 1.
fn word<T: Copy + Into<u32>>(numbers: &[T]) -> u64 {
    let bits = numbers.iter().enumerate();
    bits.fold(0, |word, (place, &number)| word | u64::from(number.into()) << place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_they_were_in_any_width() {
        for most in [0u32, 1, 2, 255, 256, 65_535, 65_536, u32::MAX] {
            for places in [0usize, 1, 63, 64, 65, 200] {
                let number = |place: usize| (place as u64 * 7_919 % (u64::from(most) + 1)) as u32;
                let mut numbers: Vec<u32> = (0..places).map(number).collect();
                numbers.extend([most]);
                let packed = ByPlace::new(&numbers);
                assert_eq!(packed.len(), places + 1);
                let unpacked: Vec<u32> = (0..=places as u32).map(|p| packed.get(p)).collect();
                assert_eq!(unpacked, numbers);
            }
        }
    }
}
