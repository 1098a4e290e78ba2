//! `hikyaku-bench`'s command line as `hikyaku-bench describe` tells it, for man pages and completions.

use std::process::Command as Process;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, Command, ValueHint};
use serde_json::Value;

/// Gives the `bench` subcommand the options of the `hikyaku-bench` that is installed. If none is, or if it does not
/// answer, the subcommand stays as it is.
pub(crate) fn describe(hikyaku: Command) -> Command {
    let Some(described) = ask() else { return hikyaku };
    hikyaku.mut_subcommands(|each| match each.get_name() {
        "bench" => command(&described).name("bench"),
        _ => each,
    })
}

fn ask() -> Option<Value> {
    let output = Process::new(super::program()?).arg("describe").output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

fn command(described: &Value) -> Command {
    let mut command = Command::new(text(described, "name").unwrap_or_default())
        .subcommand_required(is(described, "command_required"))
        .args(list(described, "arguments").iter().map(argument))
        .subcommands(list(described, "commands").iter().map(self::command));
    if let Some(about) = text(described, "about") {
        command = command.about(about);
    }
    if let Some(about) = text(described, "long_about") {
        command = command.long_about(about);
    }
    if let Some(after) = text(described, "after_help") {
        command = command.after_help(after);
    }
    command
}

fn argument(described: &Value) -> Arg {
    let mut argument = Arg::new(text(described, "id").unwrap_or_default())
        .action(action(described))
        .required(is(described, "required"));
    if let Some(short) = text(described, "short").and_then(|text| text.chars().next()) {
        argument = argument.short(short);
    }
    if let Some(long) = text(described, "long") {
        argument = argument.long(long);
    }
    if let Some(help) = text(described, "help") {
        argument = argument.help(help);
    }
    if let Some(help) = text(described, "long_help") {
        argument = argument.long_help(help);
    }
    if is(described, "flag") {
        return argument;
    }
    if is(described, "path") {
        argument = argument.value_hint(ValueHint::AnyPath);
    }
    let choices: Vec<_> = list(described, "choices").iter().map(choice).collect();
    if !choices.is_empty() {
        argument = argument.value_parser(PossibleValuesParser::new(choices));
    }
    argument
        .value_names(texts(described, "values"))
        .default_values(texts(described, "defaults"))
}

fn action(described: &Value) -> ArgAction {
    if is(described, "flag") {
        ArgAction::SetTrue
    } else if is(described, "repeated") {
        ArgAction::Append
    } else {
        ArgAction::Set
    }
}

fn choice(described: &Value) -> PossibleValue {
    let choice = PossibleValue::new(text(described, "name").unwrap_or_default());
    match text(described, "help") {
        Some(help) => choice.help(help),
        None => choice,
    }
}

fn text(described: &Value, field: &str) -> Option<String> {
    described[field].as_str().map(str::to_owned)
}

fn texts(described: &Value, field: &str) -> Vec<String> {
    let texts = list(described, field).iter();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn list<'a>(described: &'a Value, field: &str) -> &'a [Value] {
    described[field].as_array().map_or(&[], Vec::as_slice)
}

fn is(described: &Value, field: &str) -> bool {
    described[field].as_bool().unwrap_or_default()
}
