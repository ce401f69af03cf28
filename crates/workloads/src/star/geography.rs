//! Regions, nations and cities.

/// The regions.
pub const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// The nations with the number of their region, in the order of their telephone codes.
const NATIONS: [(&str, usize); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];

/// Nations in all; five in each region.
pub const NATION_COUNT: usize = NATIONS.len();

/// Cities of each nation.
pub const CITIES_PER_NATION: usize = 10;

/// A nation by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nation(usize);

impl Nation {
    /// The nation with a number below [`NATION_COUNT`].
    pub fn new(number: usize) -> Nation {
        assert!(number < NATION_COUNT, "nation {number}");
        Nation(number)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NATIONS[self.0].0
    }

    /// Its region's name.
    pub fn region(self) -> &'static str {
        REGIONS[NATIONS[self.0].1]
    }

    /// A city: the first nine characters of the nation, padded, and a digit.
    pub fn city(self, number: usize) -> String {
        assert!(number < CITIES_PER_NATION, "city {number}");
        let name = self.name();
        format!("{:<9}{number}", &name[..name.len().min(9)])
    }

    /// The country code of telephone numbers.
    pub fn telephone_code(self) -> usize {
        self.0 + 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cities_are_ten_characters() {
        assert_eq!(Nation::new(23).city(1), "UNITED KI1");
        assert_eq!(Nation::new(17).city(0), "PERU     0");
    }

    #[test]
    fn five_nations_in_each_region() {
        for region in REGIONS {
            let members = (0..NATION_COUNT).filter(|&n| Nation::new(n).region() == region);
            assert_eq!(members.count(), 5, "{region}");
        }
    }
}
