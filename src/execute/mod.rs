//! Carrying a plan out: step, check, step, check. The machine is seen through [`Host`] alone.
