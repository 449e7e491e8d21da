//! Requirements against one kernel and one system: what is there, where, and what is missing.

use super::modules::{KernelModules, Resolution};
use crate::backend::{Executable, Module, Requirements};
use std::collections::BTreeMap;

/// A required module and where this kernel has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedModule {
    /// What was asked for.
    pub module: Module,
    /// How this kernel has it; never [`Resolution::Missing`].
    pub how: Resolution,
}

/// An executable as this system has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tool {
    /// What was asked for.
    pub name: String,
    /// Its path (`/usr/sbin/pdata_tools`).
    pub path: String,
    /// Paths of the links to it that the installed package brings, sorted: all of them where any is asked for, none
    /// otherwise (the fifty names of `lvm` are not needed in an image).
    pub links: Vec<String>,
    /// Why root needs it.
    pub why: String,
}

/// A module that root needs and this kernel does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel {release} has no {} ({}), needed because: {}; install a kernel that has it, or remove this one",
    .module.name, .module.config, .module.why)]
pub struct MissingModule {
    /// Kernel release.
    pub release: String,
    /// What was asked for.
    pub module: Module,
}

/// A tool that root needs and this system does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {name}, needed at boot ({why}); install it: apt install {package}")]
pub struct MissingTool {
    /// Executable.
    pub name: &'static str,
    /// Debian package.
    pub package: &'static str,
    /// Why root needs it.
    pub why: &'static str,
}

/// Each required module as this kernel has it, in the order of their names, each once.
///
/// # Errors
/// Every [`MissingModule`].
pub fn modules(needs: &Requirements, kernel: &KernelModules<'_>) -> Result<Vec<ResolvedModule>, Vec<MissingModule>> {
    let mut found: BTreeMap<String, ResolvedModule> = BTreeMap::new();
    let mut missing: Vec<MissingModule> = Vec::new();
    for module in &needs.modules {
        let how = kernel.resolve(module.name);
        if how == Resolution::Missing {
            if !missing.iter().any(|m| m.module.name == module.name) {
                missing.push(MissingModule { release: kernel.release().to_owned(), module: module.clone() });
            }
            continue;
        }
        let key = module.name.replace('-', "_");
        found.entry(key).or_insert_with(|| ResolvedModule { module: module.clone(), how });
    }
    if missing.is_empty() { Ok(found.into_values().collect()) } else { Err(missing) }
}

/// Each required executable with all links to it. `find` gives the path of a name and the links to that file.
///
/// # Errors
/// Every [`MissingTool`].
pub fn tools(
    needs: &Requirements,
    mut find: impl FnMut(&str) -> Option<(String, Vec<String>)>,
) -> Result<Vec<Tool>, Vec<MissingTool>> {
    let mut found: Vec<Tool> = Vec::new();
    let mut missing: Vec<MissingTool> = Vec::new();
    for Executable { name, package, why, .. } in &needs.executables {
        if found.iter().any(|t| t.name == *name) || missing.iter().any(|m| m.name == *name) {
            continue;
        }
        match find(name) {
            Some((path, mut links)) => {
                if needs.executables.iter().all(|e| e.name != *name || e.links.is_empty()) {
                    links.clear();
                }
                links.sort();
                found.push(Tool { name: (*name).to_owned(), path, links, why: (*why).to_owned() });
            }
            None => missing.push(MissingTool { name, package, why }),
        }
    }
    if missing.is_empty() { Ok(found) } else { Err(missing) }
}

/// Names that LVM or a person will call and that no installed link provides, as sentences.
#[must_use]
pub fn missing_links(needs: &Requirements, tools: &[Tool]) -> Vec<String> {
    let mut sentences = Vec::new();
    for wanted in &needs.executables {
        let Some(tool) = tools.iter().find(|t| t.name == wanted.name) else { continue };
        for link in wanted.links {
            if !tool.links.iter().any(|l| l.rsplit('/').next() == Some(*link)) {
                let (name, package) = (wanted.name, wanted.package);
                sentences.push(format!("{name} is installed without its name {link}; reinstall {package}"));
            }
        }
    }
    sentences.dedup();
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tool(name: &'static str, links: &'static [&'static str], why: &'static str) -> Executable {
        Executable { name, links, package: "p", why }
    }

    #[test]
    fn links_come_where_one_is_asked_for_and_each_tool_once() {
        let executables = [tool("lvm", &[], "a"), tool("lvm", &[], "b"), tool("pdata_tools", &["cache_check"], "c")];
        let needs = Requirements { executables: executables.into(), ..Requirements::default() };
        let there = |name: &str| Some((format!("/sbin/{name}"), vec!["/sbin/z".into(), "/sbin/cache_check".into()]));
        let found = tools(&needs, there).unwrap();
        let seen: Vec<_> = found.iter().map(|t| (t.name.as_str(), t.links.len())).collect();
        assert_eq!(seen, [("lvm", 0), ("pdata_tools", 2)]);
        assert!(missing_links(&needs, &found).is_empty());
        let bare = tools(&needs, |name| Some((format!("/sbin/{name}"), Vec::new()))).unwrap();
        assert_eq!(
            missing_links(&needs, &bare),
            ["pdata_tools is installed without its name cache_check; reinstall p"]
        );
        let missing = tools(&needs, |_| None).unwrap_err();
        assert_eq!(missing.iter().map(|m| m.name).collect::<Vec<_>>(), ["lvm", "pdata_tools"]);
    }

    #[test]
    fn a_module_that_two_ask_for_is_listed_once() {
        let module = |name, why| Module { name, config: "CONFIG_X", why };
        let modules = [module("dm_cache", "a"), module("dm-cache", "b"), module("gone", "c"), module("gone", "d")];
        let mut needs = Requirements { modules: modules.into(), ..Requirements::default() };
        let files = super::super::KernelFiles { release: "6.1", dep: "kernel/dm-cache.ko:\n", ..Default::default() };
        let kernel = KernelModules::parse(files);
        let missing = super::modules(&needs, &kernel).unwrap_err();
        assert_eq!(missing.len(), 1);
        assert_eq!(
            missing[0].to_string(),
            "kernel 6.1 has no gone (CONFIG_X), needed because: c; install a kernel that has it, or remove this one"
        );
        needs.modules.retain(|m| m.name != "gone");
        assert_eq!(super::modules(&needs, &kernel).unwrap().len(), 1);
    }
}
