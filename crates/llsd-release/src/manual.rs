//! Manual pages, one for each command, made from what `--help` is made from.

use clap::Command;
use clap_mangen::Man;

use llsd_image::assembly::File;

/// `man1/llsd.1`, `man1/llsd-render.1` and so on.
pub fn pages(mut program: Command) -> Vec<File> {
    // Gives every command its name with those above it.
    program.build();
    let mut pages = Vec::new();
    add(&program, &mut pages);
    pages
}

fn add(command: &Command, pages: &mut Vec<File>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).expect("a vector takes everything");
    pages.push(File::new(&format!("man1/{name}.1"), 0o644, page));
    let is_shown = |below: &&Command| !below.is_hide_set() && below.get_name() != "help";
    for below in command.get_subcommands().filter(is_shown) {
        add(below, pages);
    }
}
