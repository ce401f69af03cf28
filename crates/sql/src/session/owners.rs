//! Owners follow definitions: what a role makes is its own, what is dropped is nobody's, and names take theirs along.
//!
//! Each change of a definition brings its change of [`crate::rights`]' entries, in the same record of the log.

use engine::transaction::Definition;
use engine::types::Result;

use super::Session;
use crate::catalog::Catalog;
use crate::rights::{Access, FIRST, Object, ObjectKind, RoleId};

fn put(object: &Object, access: Option<&Access>) -> Definition {
    Definition::PutEntry { key: object.key(), value: access.map(Access::encode) }
}

/// What a relation takes along that gets another name.
fn moved(catalog: &Catalog, from: &str, to: &str) -> Vec<Definition> {
    let (from, to) = (Object::Relation(from.to_owned()), Object::Relation(to.to_owned()));
    match catalog.rights().said(&from) {
        Some(access) => vec![put(&from, None), put(&to, Some(access))],
        None => Vec::new(),
    }
}

/// What a new relation of a role begins with. What a namesake may have left is overwritten.
pub fn owned(catalog: &Catalog, role: RoleId, name: &str, kind: ObjectKind) -> Vec<Definition> {
    let object = Object::Relation(name.to_owned());
    let access = catalog.rights().of_new(role, kind);
    let is_usual = access == Access::of(FIRST);
    match is_usual && catalog.rights().said(&object).is_none() {
        true => Vec::new(),
        false => vec![put(&object, Some(&access).filter(|_| !is_usual))],
    }
}

/// What nobody owns any more.
pub fn forgotten(catalog: &Catalog, name: &str) -> Vec<Definition> {
    let object = Object::Relation(name.to_owned());
    let said = catalog.rights().said(&object).is_some();
    said.then(|| put(&object, None)).into_iter().collect()
}

impl Session {
    /// The entries that a definition changes beside itself.
    fn following(&mut self, definition: &Definition) -> Vec<Definition> {
        let catalog = self.catalog();
        match definition {
            Definition::CreateTable(schema) => {
                let role = self.standing().role;
                owned(&catalog, role, &schema.name, ObjectKind::Relation)
            }
            Definition::CreateSequence(schema) => {
                let role = self.standing().role;
                owned(&catalog, role, &schema.name, ObjectKind::Sequence)
            }
            Definition::AlterTable(schema) => match catalog.table_by_id(schema.id) {
                Some(before) if before.name != schema.name => {
                    moved(&catalog, &before.name, &schema.name)
                }
                _ => Vec::new(),
            },
            Definition::AlterSequence(schema) => match catalog.sequence_by_id(schema.id) {
                Some(before) if before.name != schema.name => {
                    moved(&catalog, &before.name, &schema.name)
                }
                _ => Vec::new(),
            },
            Definition::DropTable(id) => {
                let own = catalog.sequences().into_iter();
                let own = own.filter(|s| s.owner.is_some_and(|(owner, _)| owner == *id));
                let names = own.map(|sequence| sequence.name.to_string());
                let table = catalog.table_by_id(*id).map(|table| table.name.to_string());
                names.chain(table).flat_map(|name| forgotten(&catalog, &name)).collect()
            }
            Definition::DropSequence(id) => {
                let sequence = catalog.sequence_by_id(*id);
                sequence.map_or_else(Vec::new, |sequence| forgotten(&catalog, &sequence.name))
            }
            _ => Vec::new(),
        }
    }

    /// Changes a definition: durably, and for everybody who plans from now on; in a block, for the block until it
    /// commits.
    pub(crate) async fn define(&mut self, definition: Definition) -> Result<()> {
        let following = self.following(&definition);
        let all = std::iter::once(definition).chain(following);
        self.define_all(all.collect()).await
    }

    /// Changes several definitions, outside a block in one record of the log.
    pub(crate) async fn define_all(&mut self, mut definitions: Vec<Definition>) -> Result<()> {
        if self.block.definitions().is_some() {
            for definition in definitions {
                self.define_in_block(definition).await?;
            }
            return Ok(());
        }
        match definitions.len() {
            0 => Ok(()),
            1 => self.define_now(definitions.remove(0)).await,
            _ => self.define_together(definitions).await,
        }
    }

    /// Builds an index behind other steps of a statement, which [takes them back](Self::take_back) where that fails.
    pub(crate) async fn define_index(&mut self, definition: Definition) -> Result<()> {
        match self.block.definitions() {
            Some(_) => self.define_in_block(definition).await,
            None => self.define_long(definition).await,
        }
    }

    /// Takes a step of a failed statement back, whatever has ended it. A block is undone as a whole.
    pub(crate) async fn take_back(&mut self, definition: Definition) -> Result<()> {
        if self.block.definitions().is_some() {
            return self.define_in_block(definition).await;
        }
        for following in self.following(&definition) {
            self.define_surely(following).await?;
        }
        self.define_surely(definition).await
    }
}
