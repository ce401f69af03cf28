//! A user's fault, with the SQLSTATE that PostgreSQL gives it. Broken invariants assert instead.

/// What went wrong, said to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Error(Box<Fault>);

/// The fields of an error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Five characters that drivers match on.
    pub state: SqlState,
    /// One line, lower case, no full stop, in PostgreSQL's words where it has some.
    pub message: String,
    /// More, where it helps.
    pub detail: Option<String>,
    /// What the user can do.
    pub hint: Option<String>,
    /// Where in the statement's text, in characters, counted from 1.
    pub position: Option<u32>,
    /// The violated constraint, which ORMs read.
    pub constraint: Option<String>,
    /// The table and the column concerned.
    pub table: Option<String>,
    /// The column concerned.
    pub column: Option<String>,
    /// Where it happened: `COPY t, line 3, column a: "x"`.
    pub context: Option<String>,
}

/// The result of everything that a user can make fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl std::ops::Deref for Error {
    type Target = Fault;

    fn deref(&self) -> &Fault {
        &self.0
    }
}

impl Error {
    /// A number with more digits than `numeric` without a precision has here.
    pub fn lost_digits() -> Error {
        let message =
            "a numeric without a precision has at most 10 digits after the decimal point here";
        Error::new(SqlState::NumericOutOfRange, message)
            .hint("Round the value, or give the type a precision and a scale.")
    }

    /// An error with a SQLSTATE and a message.
    pub fn new(state: SqlState, message: impl Into<String>) -> Error {
        Error(Box::new(Fault {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            constraint: None,
            table: None,
            column: None,
            context: None,
        }))
    }

    /// Adds the DETAIL line.
    pub fn detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds the HINT line.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the position in the statement's text, in characters, counted from 1.
    pub fn position(mut self, position: u32) -> Error {
        self.0.position = Some(position);
        self
    }

    /// Takes the position away: it counts in another text than the client's.
    pub fn unplaced(mut self) -> Error {
        self.0.position = None;
        self
    }

    /// Adds the CONTEXT line.
    pub fn context(mut self, context: impl Into<String>) -> Error {
        self.0.context = Some(context.into());
        self
    }

    /// Names the violated constraint and its table.
    pub fn constraint(mut self, table: impl Into<String>, constraint: impl Into<String>) -> Error {
        self.0.table = Some(table.into());
        self.0.constraint = Some(constraint.into());
        self
    }

    /// Names the column concerned and its table.
    pub fn column(mut self, table: impl Into<String>, column: impl Into<String>) -> Error {
        self.0.table = Some(table.into());
        self.0.column = Some(column.into());
        self
    }
}

macro_rules! states {
    ($($name:ident $code:literal $doc:literal;)*) => {
        /// A SQLSTATE, as in PostgreSQL's Appendix A.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SqlState { $(#[doc = $doc] $name,)* }

        impl SqlState {
            /// The five characters.
            pub fn code(self) -> &'static str {
                match self { $(SqlState::$name => $code,)* }
            }

            /// The first state of these five characters.
            pub fn of_code(code: &str) -> Option<SqlState> {
                [$(SqlState::$name),*].into_iter().find(|state| state.code() == code)
            }
        }
    };
}

states! {
    SuccessfulCompletion "00000" "successful_completion: a notice";
    Warning "01000" "warning";
    ProtocolViolation "08P01" "malformed message, wrong parameter count";
    FeatureNotSupported "0A000" "feature_not_supported";
    CardinalityViolation "21000" "a scalar subquery gave several rows; ON CONFLICT touched a row twice";
    StringTooLong "22001" "string_data_right_truncation";
    NumericOutOfRange "22003" "numeric_value_out_of_range";
    NullNotAllowed "22004" "null_value_not_allowed";
    DatetimeFormat "22007" "invalid_datetime_format";
    DatetimeOverflow "22008" "datetime_field_overflow";
    TimeZoneOutOfRange "22009" "invalid_time_zone_displacement_value";
    NegativeSubstring "22011" "substring_error";
    DivisionByZero "22012" "division_by_zero";
    InvalidFrameOffset "22013" "invalid_preceding_or_following_size";
    NtileArgument "22014" "invalid_argument_for_ntile_function";
    IntervalOverflow "22015" "interval_field_overflow";
    InvalidEscape "22025" "invalid_escape_sequence";
    InvalidRegularExpression "2201B" "invalid_regular_expression";
    InvalidLogarithm "2201E" "invalid_argument_for_logarithm";
    InvalidPower "2201F" "invalid_argument_for_power_function";
    InvalidBucket "2201G" "invalid_argument_for_width_bucket_function";
    InvalidLimit "2201W" "negative LIMIT";
    InvalidTablesampleArgument "2202H" "invalid_tablesample_argument";
    InvalidUseOfEscape "2200C" "invalid_use_of_escape_character";
    InvalidOffset "2201X" "negative OFFSET";
    InvalidTextRepresentation "22P02" "a text that is no value of its type";
    InvalidBinaryRepresentation "22P03" "bytes that are no value of their type";
    BadCopyFormat "22P04" "bad_copy_file_format";
    InvalidByteSequence "22021" "character_not_in_repertoire";
    InvalidParameterValue "22023" "invalid_parameter_value";
    ArraySubscript "2202E" "array_subscript_error";
    SequenceLimit "2200H" "sequence_generator_limit_exceeded";
    NotNullViolation "23502" "not_null_violation";
    ForeignKeyViolation "23503" "foreign_key_violation";
    UniqueViolation "23505" "unique_violation";
    CheckViolation "23514" "check_violation";
    InvalidCursorState "24000" "invalid_cursor_state";
    ActiveTransaction "25001" "active_sql_transaction";
    ReadOnlyTransaction "25006" "read_only_sql_transaction";
    NoActiveTransaction "25P01" "no_active_sql_transaction";
    FailedTransaction "25P02" "in_failed_sql_transaction";
    InvalidName "42602" "invalid_name";
    NameTooLong "42622" "name_too_long";
    InvalidStatementName "26000" "unknown prepared statement";
    InvalidAuthorization "28000" "invalid_authorization_specification";
    InvalidPassword "28P01" "invalid_password";
    DependentObjects "2BP01" "dependent_objects_still_exist";
    InvalidCursorName "34000" "unknown portal";
    InvalidSavepoint "3B001" "invalid_savepoint_specification";
    InvalidDatabase "3D000" "unknown database";
    InvalidSchema "3F000" "unknown schema";
    SerializationFailure "40001" "serialization_failure";
    DeadlockDetected "40P01" "deadlock_detected";
    SyntaxError "42601" "syntax_error";
    AmbiguousColumn "42702" "ambiguous_column";
    UndefinedColumn "42703" "undefined_column";
    AmbiguousParameter "42P08" "ambiguous_parameter";
    AmbiguousAlias "42P09" "ambiguous_alias";
    UndefinedObject "42704" "undefined_object";
    UndefinedFunction "42883" "undefined_function";
    AmbiguousFunction "42725" "ambiguous_function";
    UndefinedTable "42P01" "undefined_table";
    UndefinedParameter "42P02" "undefined_parameter";
    DuplicateColumn "42701" "duplicate_column";
    DuplicateAlias "42712" "duplicate_alias";
    DuplicateObject "42710" "duplicate_object";
    DuplicateDatabase "42P04" "duplicate_database";
    DuplicateSchema "42P06" "duplicate_schema";
    DuplicateTable "42P07" "duplicate_table";
    DuplicateCursor "42P03" "duplicate_cursor";
    DuplicatePreparedStatement "42P05" "duplicate_prepared_statement";
    GroupingError "42803" "grouping_error";
    DatatypeMismatch "42804" "datatype_mismatch";
    CannotCoerce "42846" "cannot_coerce";
    IndeterminateDatatype "42P18" "indeterminate_datatype";
    WrongObjectType "42809" "wrong_object_type";
    GeneratedAlways "428C9" "generated_always";
    InvalidColumnReference "42P10" "invalid_column_reference";
    InvalidRecursion "42P19" "invalid_recursion";
    WindowingError "42P20" "windowing_error";
    InvalidTableDefinition "42P16" "invalid_table_definition";
    InvalidObjectDefinition "42P17" "invalid_object_definition";
    InvalidGrant "0LP01" "invalid_grant_operation";
    InvalidRoleName "42939" "reserved_name";
    PrivilegeNotGranted "01007" "privilege_not_granted: a warning";
    PrivilegeNotRevoked "01006" "privilege_not_revoked: a warning";
    InvalidForeignKey "42830" "invalid_foreign_key";
    InsufficientPrivilege "42501" "insufficient_privilege";
    InsufficientResources "53000" "insufficient_resources: a queue is full";
    DiskFull "53100" "disk_full";
    OutOfMemory "53200" "out_of_memory";
    TooManyConnections "53300" "too_many_connections";
    PromiseNotKept "53400" "configuration_limit_exceeded: shareddb.response_time would not be kept";
    StatementTooComplex "54001" "statement_too_complex";
    TooManyArguments "54023" "too_many_arguments";
    ProgramLimit "54000" "program_limit_exceeded";
    TooManyColumns "54011" "too_many_columns";
    ObjectNotInState "55000" "object_not_in_prerequisite_state";
    LockNotAvailable "55P03" "lock_not_available: NOWAIT, lock_timeout";
    OutdatedPlan "55000" "object_not_in_prerequisite_state: a table is no longer what a plan was made for";
    ObjectInUse "55006" "object_in_use";
    FixedParameter "55P02" "cant_change_runtime_param";
    QueryCanceled "57014" "query_canceled";
    AdminShutdown "57P01" "admin_shutdown";
    CannotConnectNow "57P03" "cannot_connect_now";
    ConfigurationFile "F0000" "config_file_error";
    IoError "58030" "io_error";
    SnapshotTooOld "72000" "snapshot_too_old";
    InternalError "XX000" "a fault of ours";
    DataCorrupted "XX001" "data_corrupted";
}
