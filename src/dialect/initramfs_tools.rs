//! initramfs-tools (Debian): a hook body in shell, the module list, the boot plan, the manifest.

use super::engine::{self, RenderError, checked};
use super::manifest::{MANIFEST, Rendered, sha256};
use super::modules::{KernelModules, Resolution};
use super::resolve::{ResolvedModule, Tool};
use crate::mdadm_conf::ImageLine;
use crate::settings::BootPlan;
use serde::Serialize;
use std::collections::BTreeMap;

/// The templates, by the names they are rendered under.
const TEMPLATES: &[(&str, &str)] = &[
    ("header.txt", include_str!("../../templates/initramfs-tools/header.txt")),
    ("hook.sh", include_str!("../../templates/initramfs-tools/hook.sh")),
    ("modules.list", include_str!("../../templates/initramfs-tools/modules.list")),
    ("boot.plan", include_str!("../../templates/initramfs-tools/boot.plan")),
    (MANIFEST, include_str!("../../templates/initramfs-tools/manifest.sha256")),
];

/// Modules that are loaded before any device is looked for, rather than when something asks for them: `/dev/mapper` is
/// there from the start, and an array never waits for its personality.
const EARLY: &[&str] = &["dm_mod", "md_mod", "raid0", "raid1", "raid10", "raid456"];

/// What is rendered.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// This program's version.
    pub version: &'a str,
    /// The kernel the image is for.
    pub kernel: &'a KernelModules<'a>,
    /// Required modules, resolved.
    pub modules: &'a [ResolvedModule],
    /// Required tools, found.
    pub tools: &'a [Tool],
    /// The boot plan.
    pub plan: &'a BootPlan,
    /// ARRAY lines that the image's mdadm.conf lacks.
    pub arrays: &'a [ImageLine],
}

#[derive(Serialize)]
struct Module<'a> {
    name: &'a str,
    path: &'a str,
    why: &'a str,
    verb: &'static str,
}

#[derive(Serialize)]
struct Dependency<'a> {
    name: &'a str,
    path: &'a str,
    by: &'a str,
}

#[derive(Serialize)]
struct Copied<'a> {
    name: &'a str,
    path: &'a str,
    links: &'a [String],
    why: &'a str,
}

#[derive(Serialize)]
struct ArrayLine<'a> {
    uuid: &'a str,
    /// What a line about another array of this name begins with.
    start: String,
    line: &'a str,
}

#[derive(Serialize)]
struct Sum<'a> {
    name: &'a str,
    sha256: String,
}

/// Renders every file, the manifest last. The same input gives the same bytes.
///
/// # Errors
/// [`RenderError`].
pub fn render(input: Input<'_>) -> Result<Vec<Rendered>, RenderError> {
    let tera = engine::engine(TEMPLATES)?;
    let mut context = context(input)?;
    let mut files = Vec::new();
    for name in ["boot.plan", "hook.sh", "modules.list"] {
        files.push(Rendered { name, text: engine::render(&tera, name, &context)? });
    }
    let sums: Vec<Sum<'_>> = files.iter().map(|f| Sum { name: f.name, sha256: sha256(f.text.as_bytes()) }).collect();
    context.insert("files", &sums);
    files.push(Rendered { name: MANIFEST, text: engine::render(&tera, MANIFEST, &context)? });
    Ok(files)
}

fn context(input: Input<'_>) -> Result<tera::Context, RenderError> {
    let mut modules: BTreeMap<&str, Module<'_>> = BTreeMap::new();
    let mut builtin = Vec::new();
    for ResolvedModule { module, how } in input.modules {
        let add = |name: &'_ str, path: &'_ str| -> Result<(), RenderError> {
            checked(name)?;
            checked(path)?;
            Ok(())
        };
        match how {
            Resolution::Present { module: name, path } => {
                add(name, path)?;
                modules.entry(name).or_insert_with(|| listed(name, path, module.why));
            }
            Resolution::ViaAlias { modules: found } => {
                for (name, path) in found {
                    add(name, path)?;
                    if path.is_empty() {
                        builtin.push(name.as_str());
                    } else {
                        modules.entry(name).or_insert_with(|| listed(name, path, module.why));
                    }
                }
            }
            Resolution::Builtin => builtin.push(module.name),
            Resolution::Missing => {}
        }
    }
    let needs = dependencies(input.kernel, &modules);
    let mut dependencies = Vec::new();
    for (name, (path, by)) in &needs {
        dependencies.push(Dependency { name: checked(name)?, path: checked(path)?, by });
    }
    let mut tools = Vec::new();
    for tool in input.tools {
        checked(&tool.path)?;
        for link in &tool.links {
            checked(link)?;
        }
        tools.push(Copied { name: &tool.name, path: &tool.path, links: &tool.links, why: &tool.why });
    }
    let mut arrays = Vec::new();
    for ImageLine { name, uuid, line } in input.arrays {
        let start = if name.is_empty() { format!("ARRAY UUID={uuid}") } else { format!("ARRAY {name} ") };
        checked(&start)?;
        arrays.push(ArrayLine { uuid: checked(uuid)?, start, line: checked(line)? });
    }
    builtin.sort_unstable();
    builtin.dedup();
    let mut context = tera::Context::new();
    context.insert("version", checked(input.version)?);
    context.insert("kernel", checked(input.kernel.release())?);
    context.insert("modules", &modules.values().collect::<Vec<_>>());
    context.insert("builtin", &builtin);
    context.insert("dependencies", &dependencies);
    context.insert("tools", &tools);
    context.insert("arrays", &arrays);
    context.insert("plan", input.plan.to_string().trim_end());
    Ok(context)
}

fn listed<'a>(name: &'a str, path: &'a str, why: &'a str) -> Module<'a> {
    let verb = if EARLY.contains(&name) { "force_load" } else { "manual_add_modules" };
    Module { name, path, why, verb }
}

/// What the listed modules need and is not listed itself: name, path, and the first that needs it. Soft dependencies
/// count where this kernel has them.
fn dependencies(
    kernel: &KernelModules<'_>,
    modules: &BTreeMap<&str, Module<'_>>,
) -> BTreeMap<String, (String, String)> {
    let mut found: BTreeMap<String, (String, String)> = BTreeMap::new();
    for by in modules.keys() {
        let mut needs = kernel.needs(by);
        for soft in kernel.soft_needs(by) {
            if let Resolution::Present { module, path } = kernel.resolve(soft) {
                needs.extend(kernel.needs(&module));
                needs.push((module, path));
            }
        }
        for (name, path) in needs {
            if !modules.contains_key(name.as_str()) {
                found.entry(name).or_insert_with(|| (path, (*by).to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_template_quotes_a_value_twice() {
        for (name, text) in TEMPLATES {
            for line in text.lines() {
                let inside = line.split('"').skip(1).step_by(2);
                assert!(!inside.clone().any(|s| s.contains("@{")), "{name}: {line}");
            }
        }
    }

    #[test]
    fn every_variable_of_every_template_is_given() {
        let kernel = KernelModules::parse(super::super::KernelFiles::default());
        let plan = BootPlan::default();
        let input = Input { version: "1", kernel: &kernel, modules: &[], tools: &[], plan: &plan, arrays: &[] };
        let given = context(input).unwrap();
        let tera = engine::engine(TEMPLATES).unwrap();
        for (name, _) in TEMPLATES {
            for variable in tera.get_template_variables(name).unwrap() {
                assert!(given.get(variable).is_some() || variable == "files", "{name}: {variable}");
            }
        }
    }
}
