//! What the host program reads of a system's own files and writes into it: kernels' module lists, tools, settings, and
//! the files it keeps.

mod files;
mod hand_over;
mod images;
mod kernel;
mod settings;
mod state;
mod tools;

pub use files::{FilesError, Kept, make_dir, remove_file, write_atomic, write_public};
pub use hand_over::hand_over;
pub use images::{against_clean, folders, look_of};
pub use kernel::{KernelTexts, in_chroot, kernels};
pub use settings::read_settings;
pub use state::{
    Installed, STATE, built_plan, generated, generated_kernels, image_arms, image_is_built, installed,
    remove_empty_state, remove_generated, state_is_empty, uninstalling,
};
pub use tools::find_tool;
