//! Access control lists: who has allowed whom what.

use engine::types::{Error, Result, SqlState};

use super::{ObjectKind, PUBLIC, Privileges, RoleId};

/// What one role has allowed another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AclItem {
    /// Who may.
    pub grantee: RoleId,
    /// Who has said so.
    pub grantor: RoleId,
    /// What.
    pub privileges: Privileges,
    /// What of it the grantee may hand on.
    pub options: Privileges,
}

/// All that was said about an object, in the order in which it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl(Vec<AclItem>);

/// Whose privileges are asked for.
pub type IsMine<'a> = &'a dyn Fn(RoleId) -> bool;

impl Acl {
    /// What holds while nobody has said anything: the owner may do everything.
    pub fn usual(kind: ObjectKind, owner: RoleId) -> Acl {
        let everybody = kind.usual_of_public();
        let item = |grantee, privileges| AclItem {
            grantee,
            grantor: owner,
            privileges,
            options: Privileges::NONE,
        };
        let public = (!everybody.is_none()).then(|| item(PUBLIC, everybody));
        // A column's owner is the table's, and has what the table gives.
        let own = (kind != ObjectKind::Column).then(|| item(owner, kind.known()));
        Acl(public.into_iter().chain(own).collect())
    }

    /// A list of items.
    pub fn of(items: Vec<AclItem>) -> Acl {
        Acl(items)
    }

    /// What was said.
    pub fn items(&self) -> &[AclItem] {
        &self.0
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What somebody may do, PUBLIC's privileges among it.
    pub fn held(&self, is_mine: IsMine<'_>) -> Privileges {
        let mine = self.0.iter().filter(|item| item.grantee == PUBLIC || is_mine(item.grantee));
        mine.fold(Privileges::NONE, |all, item| all.with(item.privileges))
    }

    /// What somebody may hand on.
    pub fn options(&self, is_mine: IsMine<'_>) -> Privileges {
        let mine = self.0.iter().filter(|item| is_mine(item.grantee));
        mine.fold(Privileges::NONE, |all, item| all.with(item.options))
    }

    /// Adds what is said; with `options` to be handed on. 0LP01 where the options come from the grantee itself.
    pub fn grant(&mut self, owner: RoleId, item: AclItem) -> Result<()> {
        if !item.options.is_none() {
            self.refuse_circle(owner, &item)?;
        }
        let same =
            |known: &&mut AclItem| (known.grantee, known.grantor) == (item.grantee, item.grantor);
        match self.0.iter_mut().find(same) {
            Some(known) => {
                known.privileges = known.privileges.with(item.privileges);
                known.options = known.options.with(item.options);
            }
            None => self.0.push(item),
        }
        Ok(())
    }

    /// The grantor must still have its options when all that the grantee has handed on is gone.
    fn refuse_circle(&self, owner: RoleId, item: &AclItem) -> Result<()> {
        if item.grantor == owner {
            return Ok(());
        }
        let mut without = self.clone();
        while let Some(given) =
            without.0.iter().find(|i| i.grantee == item.grantee && !i.options.is_none()).copied()
        {
            without.revoke(owner, &AclItem { privileges: Privileges::NONE, ..given }, true)?;
        }
        let left = without.options(&|role| role == item.grantor);
        if left.holds(item.options) {
            return Ok(());
        }
        let message = "grant options cannot be granted back to your own grantor";
        Err(Error::new(SqlState::InvalidGrant, message))
    }

    /// Takes back the privileges and the options of `item`. What the grantee has handed on goes too with `cascade`, else
    /// that is 2BP01.
    pub fn revoke(&mut self, owner: RoleId, item: &AclItem, cascade: bool) -> Result<()> {
        let same = |known: &AclItem| (known.grantee, known.grantor) == (item.grantee, item.grantor);
        let Some(place) = self.0.iter().position(same) else { return Ok(()) };
        let known = &mut self.0[place];
        let before = known.options;
        known.privileges = known.privileges.without(item.privileges);
        known.options = known.options.without(item.options.with(item.privileges));
        let lost = before.without(known.options);
        if known.privileges.is_none() && known.options.is_none() {
            self.0.remove(place);
        }
        match lost.is_none() || item.grantee == owner {
            true => Ok(()),
            false => self.revoke_dependent(owner, item.grantee, lost, cascade),
        }
    }

    /// What a role has handed on that has lost the options for it.
    fn revoke_dependent(
        &mut self,
        owner: RoleId,
        grantor: RoleId,
        lost: Privileges,
        cascade: bool,
    ) -> Result<()> {
        let lost = lost.without(self.options(&|role| role == grantor));
        let depends = |item: &&AclItem| item.grantor == grantor && item.privileges.meets(lost);
        while let Some(item) = self.0.iter().find(depends).copied() {
            if !cascade {
                return Err(Error::new(SqlState::DependentObjects, "dependent privileges exist")
                    .hint("Use CASCADE to revoke them too."));
            }
            let privileges = item.privileges.and(lost);
            self.revoke(owner, &AclItem { privileges, options: lost, ..item }, cascade)?;
        }
        Ok(())
    }

    /// The list when the object has another owner: what was the old one's is the new one's.
    pub fn change_owner(&mut self, old: RoleId, new: RoleId) {
        let renamed = |role| if role == old { new } else { role };
        let mut changed = Acl::default();
        for item in &self.0 {
            let (grantee, grantor) = (renamed(item.grantee), renamed(item.grantor));
            let item = AclItem { grantee, grantor, ..*item };
            // By the owner itself, which is in no circle.
            let _ = changed.grant(new, item);
        }
        self.0 = changed.0;
    }

    /// Forgets all that a role was allowed and has allowed.
    pub fn forget(&mut self, role: RoleId) {
        self.0.retain(|item| item.grantee != role && item.grantor != role);
    }

    /// Whether a role is named.
    pub fn names(&self, role: RoleId) -> bool {
        self.0.iter().any(|item| item.grantee == role || item.grantor == role)
    }

    /// The items as `16384=r*w/10`.
    pub fn encode(&self) -> String {
        let items = self.0.iter().map(|item| {
            let letters = item.letters();
            format!("{}={letters}/{}", item.grantee.0, item.grantor.0)
        });
        items.collect::<Vec<_>>().join(" ")
    }

    /// What `encode` wrote.
    pub fn decode(text: &str) -> Option<Acl> {
        let items = text.split(' ').filter(|item| !item.is_empty()).map(|item| {
            let (grantee, rest) = item.split_once('=')?;
            let (letters, grantor) = rest.split_once('/')?;
            let mut privileges = String::new();
            let mut options = String::new();
            for letter in letters.chars() {
                match letter {
                    '*' => options.extend(privileges.chars().last()),
                    letter => privileges.push(letter),
                }
            }
            Some(AclItem {
                grantee: RoleId(grantee.parse().ok()?),
                grantor: RoleId(grantor.parse().ok()?),
                privileges: Privileges::of_letters(&privileges)?,
                options: Privileges::of_letters(&options)?,
            })
        });
        items.collect::<Option<Vec<_>>>().map(Acl)
    }
}

impl AclItem {
    /// The privileges' letters, each with a star where it can be handed on.
    pub fn letters(&self) -> String {
        let letter = |(one, _, letter): (Privileges, _, char)| {
            let star = if self.options.meets(one) { "*" } else { "" };
            format!("{letter}{star}")
        };
        self.privileges.each().map(letter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: RoleId = RoleId(1);
    const ANN: RoleId = RoleId(2);
    const BOB: RoleId = RoleId(3);
    const EVE: RoleId = RoleId(4);

    fn item(grantor: RoleId, grantee: RoleId, with_option: bool) -> AclItem {
        let privileges = Privileges::SELECT;
        let options = if with_option { privileges } else { Privileges::NONE };
        AclItem { grantee, grantor, privileges, options }
    }

    fn granted(items: &[AclItem]) -> Acl {
        let mut acl = Acl::usual(ObjectKind::Relation, OWNER);
        items.iter().for_each(|item| acl.grant(OWNER, *item).expect("no circle"));
        acl
    }

    fn may(acl: &Acl, role: RoleId) -> bool {
        acl.held(&|other| other == role).holds(Privileges::SELECT)
    }

    #[test]
    fn what_was_handed_on_goes_with_its_option() {
        let chain = [item(OWNER, ANN, true), item(ANN, BOB, true), item(BOB, EVE, false)];
        let mut acl = granted(&chain);
        assert!(may(&acl, EVE));
        let refused = acl.clone().revoke(OWNER, &item(OWNER, ANN, false), false);
        assert_eq!(refused.expect_err("dependent").state.code(), "2BP01");
        acl.revoke(OWNER, &item(OWNER, ANN, false), true).expect("cascades");
        assert!(!may(&acl, ANN) && !may(&acl, BOB) && !may(&acl, EVE) && may(&acl, OWNER));
    }

    #[test]
    fn what_another_has_given_too_stays() {
        let mut acl = granted(&[
            item(OWNER, ANN, true),
            item(OWNER, BOB, true),
            item(ANN, BOB, true),
            item(BOB, EVE, false),
        ]);
        acl.revoke(OWNER, &item(OWNER, ANN, false), true).expect("cascades");
        assert!(!may(&acl, ANN) && may(&acl, BOB) && may(&acl, EVE));
    }

    #[test]
    fn options_do_not_go_in_circles() {
        let mut acl = granted(&[item(OWNER, ANN, true), item(ANN, BOB, true)]);
        let refused = acl.grant(OWNER, item(BOB, ANN, true)).expect_err("a circle");
        assert_eq!(refused.state.code(), "0LP01");
        acl.grant(OWNER, item(OWNER, BOB, true)).expect("from the owner");
        acl.grant(OWNER, item(BOB, EVE, true)).expect("no circle");
    }

    #[test]
    fn lists_survive_their_encoding() {
        let acl = granted(&[item(OWNER, ANN, true), item(OWNER, PUBLIC, false)]);
        assert_eq!(acl.encode(), "1=arwdDxt/1 2=r*/1 0=r/1");
        assert_eq!(Acl::decode(&acl.encode()), Some(acl));
        assert_eq!(Acl::decode("1=z/1"), None);
        assert_eq!(Acl::decode(""), Some(Acl::default()));
    }
}
