//! What a boot did: written by the early program, read by `originboot status`.
