//! The commands of the initramfs shell.

use std::process::ExitCode;

use super::boot::Boot;
use super::state::State;
use crate::decide::{Decision, Refusal, decide};
use crate::report::Ending;
use crate::settings::Request;
use crate::sys::machine::{RUN_DIR, show, tell};

/// A refusal as lines for a person.
pub(super) fn lines(refusal: &Refusal, state: &State) -> Vec<String> {
    let mut lines = refusal.reasons.clone();
    lines.extend(refusal.evidence.iter().map(|e| format!("evidence: {} ({})", e.fact, e.source)));
    lines.push(match state.wrote {
        Some(_) => format!("an earlier try in this boot changed {}, and stopped: {}", refusal.vg, state.why),
        None => "nothing was written to any disk".to_owned(),
    });
    lines.extend(refusal.remedy.iter().map(|r| format!("-> {r}")));
    lines
}

fn begin() -> Result<Boot, ExitCode> {
    Boot::begin(false).map_err(|error| {
        eprintln!("originboot: {error}");
        ExitCode::from(3)
    })
}

fn lacking(arrays: &[String]) -> String {
    format!("members of {} are missing; \"originboot retry\" starts it without them", arrays.join(", "))
}

/// `explain`: why root is not there, and what the reader can do. Changes nothing.
pub(super) fn explain() -> ExitCode {
    let boot = match begin() {
        Ok(boot) => boot,
        Err(code) => return code,
    };
    if boot.state.stopped {
        tell(&format!("an earlier try in this boot stopped: {}", boot.state.why));
    }
    match decide(&boot.situation(boot.due())) {
        Decision::Nothing { why } => {
            tell(&why);
            super::preview::show_note();
        }
        Decision::Wait { what, .. } => tell(&what),
        Decision::StartArrays { arrays } => tell(&lacking(&arrays)),
        Decision::Refuse(refusal) => {
            tell(&format!("root cannot be brought up as it is ({}):", refusal.code));
            lines(&refusal, &boot.state).iter().for_each(|line| show(&format!("  {line}")));
            return ExitCode::FAILURE;
        }
        Decision::Act(plan) => {
            tell("root can be brought up; \"originboot retry\" does this:");
            plan.reasons.iter().for_each(|r| show(&format!("  {r}")));
            for (n, step) in plan.steps.iter().enumerate() {
                show(&format!("  {}. {}: {}", n + 1, step.action, step.why));
            }
        }
    }
    ExitCode::SUCCESS
}

/// `status`: in short.
pub(super) fn status() -> ExitCode {
    let boot = match begin() {
        Ok(boot) => boot,
        Err(code) => return code,
    };
    let code = match decide(&boot.situation(boot.due())) {
        Decision::Nothing { why } => {
            tell(&why);
            ExitCode::SUCCESS
        }
        Decision::Wait { what, .. } => {
            tell(&what);
            ExitCode::SUCCESS
        }
        Decision::StartArrays { arrays } => {
            tell(&lacking(&arrays));
            ExitCode::SUCCESS
        }
        Decision::Act(plan) => {
            tell(&format!("{}; \"originboot retry\" brings root up", plan.reasons.join("; ")));
            ExitCode::SUCCESS
        }
        Decision::Refuse(refusal) => {
            tell(&format!("held ({}): {}", refusal.code, refusal.reasons.join("; ")));
            if let Some(token) = &refusal.token {
                show(&format!("token of this case: {token}"));
            }
            ExitCode::FAILURE
        }
    };
    let record = format!("{RUN_DIR}/{}", crate::report::FILE);
    if std::path::Path::new(&record).exists() {
        show(&format!("record of this boot: {record}"));
    }
    code
}

/// `retry`: decide now, as policy says.
pub(super) fn retry() -> ExitCode {
    match begin() {
        Ok(boot) => act_now(boot),
        Err(code) => code,
    }
}

/// `preview`: root over a layer in RAM, whatever the verdict.
pub(super) fn preview() -> ExitCode {
    match begin() {
        Ok(mut boot) => {
            boot.line.request = Request::Preview;
            act_now(boot)
        }
        Err(code) => code,
    }
}

/// `detach TOKEN`: what policy forbids, for this one case.
pub(super) fn detach(token: &str) -> ExitCode {
    match begin() {
        Ok(mut boot) => {
            boot.line.request = Request::Detach { token: token.to_owned() };
            act_now(boot)
        }
        Err(code) => code,
    }
}

fn act_now(mut boot: Boot) -> ExitCode {
    boot.state.stopped = false;
    let mut decision = decide(&boot.situation(boot.due()));
    if let Decision::StartArrays { arrays } = &decision {
        boot.start_arrays(arrays);
        decision = decide(&boot.situation(boot.due()));
    }
    let code = match decision {
        Decision::StartArrays { .. } => ExitCode::FAILURE,
        Decision::Nothing { why } => {
            tell(&format!("{why}; type \"exit\" to go on booting"));
            ExitCode::SUCCESS
        }
        Decision::Wait { what, .. } => {
            tell(&what);
            ExitCode::SUCCESS
        }
        Decision::Refuse(refusal) => {
            // Whoever asks is told, even twice.
            boot.state.said = None;
            boot.hold(&refusal);
            ExitCode::FAILURE
        }
        Decision::Act(plan) => match boot.act(&plan) {
            Ending::Stopped => ExitCode::FAILURE,
            _ => {
                tell("type \"exit\" to go on booting");
                ExitCode::SUCCESS
            }
        },
    };
    boot.store_state();
    code
}
