//! The command line as JSON, from which `hikyaku` makes man pages and completions without linking the tables.

use clap::{Arg, ArgAction, Command, ValueHint};
use serde_json::{Value, json};

/// Describes a command with its arguments and subcommands; hidden ones are left out.
///
/// `crates/hikyaku/src/bench/description.rs` reads it. Texts that are absent are `null`.
pub(crate) fn command(command: &Command) -> Value {
    json!({
        "name": command.get_name(),
        "about": command.get_about().map(ToString::to_string),
        "long_about": command.get_long_about().map(ToString::to_string),
        "after_help": command.get_after_help().map(ToString::to_string),
        "command_required": command.is_subcommand_required_set(),
        "arguments": command.get_arguments().filter(|each| !each.is_hide_set()).map(argument).collect::<Vec<_>>(),
        "commands": command.get_subcommands().filter(|each| !each.is_hide_set()).map(self::command).collect::<Vec<_>>(),
    })
}

fn argument(argument: &Arg) -> Value {
    let choices = argument.get_possible_values();
    json!({
        "id": argument.get_id().as_str(),
        "short": argument.get_short(),
        "long": argument.get_long(),
        "help": argument.get_help().map(ToString::to_string),
        "long_help": argument.get_long_help().map(ToString::to_string),
        "flag": !argument.get_action().takes_values(),
        "repeated": matches!(argument.get_action(), ArgAction::Append),
        "required": argument.is_required_set(),
        "path": matches!(argument.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath),
        "values": argument.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "defaults": argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect::<Vec<_>>(),
        "choices": choices
            .iter()
            .map(|choice| json!({ "name": choice.get_name(), "help": choice.get_help().map(ToString::to_string) }))
            .collect::<Vec<_>>(),
    })
}
