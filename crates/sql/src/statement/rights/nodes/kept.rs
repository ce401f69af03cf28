//! SET and RESET behind ALTER ROLE and ALTER DATABASE.

use engine::types::Result;
use syntax::{AlterDatabaseSetStmt, AlterRoleSetStmt, VariableSetKind, VariableSetStmt};

use super::{name, role};
use crate::statement::constraint::unsupported;
use crate::statement::rights::tree::{AlterSettings, KeptChange, RightsStatement};
use crate::statement::setting;

/// ALTER ROLE; without a role it is ALL.
pub fn of_role(alter: AlterRoleSetStmt<'_>) -> Result<RightsStatement> {
    Ok(RightsStatement::Settings(AlterSettings {
        tag: "ALTER ROLE",
        role: alter.role().map(role),
        database: alter.database().map(str::to_owned),
        change: change(alter.setstmt().expect("the grammar has one"))?,
    }))
}

/// ALTER DATABASE
pub fn of_database(alter: AlterDatabaseSetStmt<'_>) -> Result<RightsStatement> {
    Ok(RightsStatement::Settings(AlterSettings {
        tag: "ALTER DATABASE",
        role: None,
        database: Some(name(alter.dbname())),
        change: change(alter.setstmt().expect("the grammar has one"))?,
    }))
}

fn change(set: VariableSetStmt<'_>) -> Result<KeptChange> {
    let name = name(set.name());
    Ok(match set.kind() {
        VariableSetKind::SetValue => KeptChange::Set { value: setting::value(set)?, name },
        VariableSetKind::SetDefault | VariableSetKind::Reset => KeptChange::Reset(name),
        VariableSetKind::SetCurrent => KeptChange::FromCurrent(name),
        VariableSetKind::ResetAll => KeptChange::ResetAll,
        VariableSetKind::SetMulti => return Err(unsupported(&format!("ALTER ... SET {name}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::command::{Command, command};
    use crate::statement::rights::tree::RoleSpec;

    fn settings(text: &str) -> AlterSettings {
        match command(text) {
            Ok(Command::Rights(statement)) => match *statement {
                RightsStatement::Settings(settings) => settings,
                other => panic!("{text}: {other:?}"),
            },
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn settings_are_taken_apart() {
        let reset = |name: &str| KeptChange::Reset(name.to_owned());
        let set = |name: &str, value: &str| KeptChange::Set {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        for (text, wanted) in [
            ("SET Work_Mem = 4096", set("work_mem", "4096")),
            ("SET search_path = \"$user\", public", set("search_path", "\"$user\", public")),
            ("SET TIME ZONE LOCAL", reset("timezone")),
            ("SET jit TO DEFAULT", reset("jit")),
            ("SET jit FROM CURRENT", KeptChange::FromCurrent("jit".to_owned())),
            ("RESET jit", reset("jit")),
            ("RESET TRANSACTION ISOLATION LEVEL", reset("transaction_isolation")),
            ("RESET ALL", KeptChange::ResetAll),
        ] {
            assert_eq!(settings(&format!("ALTER ROLE ann {text}")).change, wanted, "{text}");
            assert_eq!(settings(&format!("ALTER DATABASE d {text};")).change, wanted, "{text}");
        }
        let fault = command("ALTER ROLE ann SET TRANSACTION READ ONLY").expect_err("not kept");
        assert_eq!(fault.state.code(), "0A000");
    }

    #[test]
    fn it_is_said_whose_they_are() {
        let ann = || Some(RoleSpec::Named("ann".to_owned()));
        for (text, role, database, tag) in [
            ("ALTER ROLE ann RESET ALL", ann(), None, "ALTER ROLE"),
            ("ALTER USER ann IN DATABASE d RESET ALL", ann(), Some("d"), "ALTER ROLE"),
            ("ALTER ROLE CURRENT_USER RESET ALL", Some(RoleSpec::Current), None, "ALTER ROLE"),
            ("ALTER ROLE ALL RESET ALL", None, None, "ALTER ROLE"),
            ("ALTER ROLE ALL IN DATABASE d RESET ALL", None, Some("d"), "ALTER ROLE"),
            ("ALTER DATABASE d RESET ALL", None, Some("d"), "ALTER DATABASE"),
        ] {
            let AlterSettings { tag: is, role: whose, database: place, change } = settings(text);
            assert_eq!((whose, place.as_deref(), is), (role, database, tag), "{text}");
            assert_eq!(change, KeptChange::ResetAll);
        }
    }
}
