//! Statements about roles and rights, owning what they say.

/// A statement about roles and rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RightsStatement {
    /// CREATE ROLE, USER, GROUP
    CreateRole {
        /// Its name.
        name: String,
        /// CREATE USER: it may log in.
        login: bool,
        /// The rest.
        options: Vec<RoleOption>,
    },
    /// ALTER ROLE
    AlterRole {
        /// Which.
        role: RoleSpec,
        /// What changes.
        options: Vec<RoleOption>,
    },
    /// ALTER ROLE ... RENAME TO
    RenameRole {
        /// Which.
        from: RoleSpec,
        /// Its new name.
        to: String,
    },
    /// DROP ROLE
    DropRoles {
        /// Which.
        roles: Vec<RoleSpec>,
        /// IF EXISTS
        if_exists: bool,
    },
    /// GRANT and REVOKE of privileges.
    Grant(Grant),
    /// GRANT and REVOKE of roles.
    Membership(Membership),
    /// ALTER DEFAULT PRIVILEGES
    Defaults {
        /// FOR ROLE; empty: the current one.
        roles: Vec<RoleSpec>,
        /// IN SCHEMA; empty: everywhere.
        schemas: Vec<String>,
        /// What is said.
        grant: Grant,
    },
    /// ALTER ... OWNER TO
    Owner {
        /// The kind of object, as the statement says.
        kind: &'static str,
        /// The object.
        name: Name,
        /// IF EXISTS
        if_exists: bool,
        /// The new owner.
        to: RoleSpec,
    },
    /// REASSIGN OWNED and DROP OWNED.
    Owned(Owned),
    /// ALTER ROLE and ALTER DATABASE ... SET and RESET.
    Settings(AlterSettings),
}

/// A role where a statement names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleSpec {
    /// By name.
    Named(String),
    /// CURRENT_USER
    Current,
    /// SESSION_USER
    Session,
    /// PUBLIC
    Public,
}

/// An option of CREATE and ALTER ROLE.
#[derive(Clone, PartialEq, Eq)]
pub enum RoleOption {
    /// SUPERUSER
    Superuser(bool),
    /// CREATEDB
    CreateDatabase(bool),
    /// CREATEROLE
    CreateRole(bool),
    /// INHERIT
    Inherit(bool),
    /// LOGIN
    Login(bool),
    /// REPLICATION
    Replication(bool),
    /// BYPASSRLS
    BypassPolicies(bool),
    /// CONNECTION LIMIT
    ConnectionLimit(i32),
    /// VALID UNTIL
    ValidUntil(String),
    /// PASSWORD; `None`: NULL.
    Password(Option<String>),
    /// IN ROLE
    In(Vec<RoleSpec>),
    /// ROLE
    Members(Vec<RoleSpec>),
    /// ADMIN
    Admins(Vec<RoleSpec>),
    /// SYSID, which PostgreSQL takes and ignores too.
    Ignored,
}

impl std::fmt::Debug for RoleOption {
    /// Passwords are not for logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RoleOption::In(roles) => write!(f, "In({roles:?})"),
            RoleOption::Members(roles) => write!(f, "Members({roles:?})"),
            RoleOption::Admins(roles) => write!(f, "Admins({roles:?})"),
            _ => f.write_str("option"),
        }
    }
}

/// A privilege with the columns that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name; `None`: ALL.
    pub name: Option<String>,
    /// Empty: the whole object.
    pub columns: Vec<String>,
}

/// A name with what stands before it.
#[derive(Clone, PartialEq, Eq)]
pub struct Name(pub Vec<String>);

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// What privileges are granted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// TABLE, or nothing: tables and views; sequences too.
    Tables(Vec<Name>),
    /// SEQUENCE
    Sequences(Vec<Name>),
    /// SCHEMA
    Schemas(Vec<String>),
    /// DATABASE
    Databases(Vec<String>),
    /// ALL TABLES IN SCHEMA
    AllTables(Vec<String>),
    /// ALL SEQUENCES IN SCHEMA
    AllSequences(Vec<String>),
    /// ALL FUNCTIONS IN SCHEMA: there are none.
    AllFunctions(Vec<String>),
    /// A kind of objects to come.
    Kind(&'static str),
}

/// GRANT and REVOKE of privileges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// GRANT rather than REVOKE.
    pub is_grant: bool,
    /// GRANT OPTION FOR
    pub options_only: bool,
    /// The privileges.
    pub wanted: Vec<Wanted>,
    /// On what.
    pub target: Target,
    /// To or from whom.
    pub grantees: Vec<RoleSpec>,
    /// WITH GRANT OPTION
    pub with_option: bool,
    /// GRANTED BY
    pub granted_by: Option<RoleSpec>,
    /// CASCADE
    pub cascade: bool,
}

/// GRANT and REVOKE of roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// GRANT rather than REVOKE.
    pub grant: bool,
    /// The roles.
    pub roles: Vec<String>,
    /// Who becomes or was a member.
    pub members: Vec<RoleSpec>,
    /// WITH ADMIN OPTION
    pub admin: bool,
    /// ADMIN OPTION FOR
    pub only_admin: bool,
    /// GRANTED BY
    pub granted_by: Option<RoleSpec>,
}

/// REASSIGN OWNED and DROP OWNED.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// Whose.
    pub roles: Vec<RoleSpec>,
    /// The new owner; `None`: what there is goes.
    pub to: Option<RoleSpec>,
    /// CASCADE
    pub cascade: bool,
}

/// ALTER ROLE and ALTER DATABASE ... SET and RESET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSettings {
    /// The statement's tag.
    pub tag: &'static str,
    /// Whose; `None`: everybody's.
    pub role: Option<RoleSpec>,
    /// IN DATABASE, or that of ALTER DATABASE.
    pub database: Option<String>,
    /// What changes.
    pub change: KeptChange,
}

/// A change of kept settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptChange {
    /// SET name TO value
    Set {
        /// The setting.
        name: String,
        /// Its value.
        value: String,
    },
    /// SET name FROM CURRENT: as the session has it.
    FromCurrent(String),
    /// RESET name, and SET name TO DEFAULT.
    Reset(String),
    /// RESET ALL
    ResetAll,
}
