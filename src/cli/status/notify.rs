//! A mail to root, or the admin's own command.

use std::time::Duration;

use anyhow::Context as _;

use super::told::{COMMAND, mark, put_mark};
use super::{Known, host};
use crate::sys::Root;
use crate::sys::host::{hand_over, read_settings};
use crate::sys::machine::RUN_DIR;

/// Below [`RUN_DIR`]: this boot has sent its notice. Holds the boot id of the boot that runs.
const NOTIFIED: &str = "notified";

/// How long the program may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Where a mailer's `sendmail` is looked for (Filesystem Hierarchy Standard 3.0, `/usr/lib` and `/usr/sbin`).
const SENDMAIL: [&str; 2] = ["/usr/sbin/sendmail", "/usr/lib/sendmail"];

/// Tells, once in a boot, until somebody acknowledges. Says on stdout what was done.
pub(super) fn notify(root: &Root, known: &Known) -> anyhow::Result<()> {
    let this_boot = root.attribute("/proc/sys/kernel/random/boot_id");
    if !known.pending || mark(root, &format!("{RUN_DIR}/{NOTIFIED}")) == this_boot {
        return Ok(());
    }
    // A slip in a settings file must not keep the news back.
    let command = match read_settings(root) {
        Ok(settings) => settings.notify_command,
        Err(error) => {
            println!("<3>originboot: {error}; going on without notify_command");
            Vec::new()
        }
    };
    let sendmail = SENDMAIL.into_iter().find(|path| root.exists(path));
    let (argv, stdin) = match (command.is_empty(), sendmail) {
        (false, _) => (command, serde_json::to_vec(&known.report(root)).context("writing JSON")?),
        (true, _) if known.record.in_preview() => {
            println!(
                "<4>originboot: no mail from a preview: its queue would be lost with the layer in RAM. Set notify_command \
                 to be told of the next one"
            );
            return Ok(());
        }
        (true, Some(path)) => (["-oi", "-t"].into_iter().fold(vec![path.to_owned()], with), mail(root, known)),
        (true, None) => {
            println!("<4>originboot: nobody is told: there is no sendmail here, and no notify_command is set");
            return Ok(());
        }
    };
    match hand_over(root, &argv, &stdin, LIMIT) {
        Ok(Some(0)) => {
            println!("<5>originboot: told by {}", argv.join(" "));
            put_mark(root, RUN_DIR, NOTIFIED, &this_boot)
        }
        Ok(Some(status)) => failed(&argv, &format!("exit status {status}")),
        Ok(None) => failed(&argv, &format!("stopped after {} s", LIMIT.as_secs())),
        Err(error) => failed(&argv, &error.to_string()),
    }
}

fn with(mut argv: Vec<String>, word: &str) -> Vec<String> {
    argv.push(word.to_owned());
    argv
}

/// The next boot tries again.
fn failed(argv: &[String], why: &str) -> anyhow::Result<()> {
    println!("<3>originboot: nobody was told by {}: {why}", argv.join(" "));
    Ok(())
}

/// RFC 5322, in UTF-8; the mailer adds the date and the sender.
fn mail(root: &Root, known: &Known) -> Vec<u8> {
    let headline = known.record.headline();
    // No header may hold other characters, and none may begin a second one.
    let subject: String = format!("originboot on {}: {headline}", host(root));
    let subject: String = subject.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).take(200).collect();
    format!(
        "To: root\nSubject: {subject}\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\nContent-Type: text/plain; \
         charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{}\nYou are told again at each boot, until you run \"{COMMAND}\" \
         there.\n",
        known.text()
    )
    .into_bytes()
}
