//! Names the programming language of a file by its path. The names are those of GitHub Linguist; data formats and prose
//! (JSON, YAML, Markdown) have none, because Linguist does not count them.

/// Languages by the extension of the file name, in lower case. Sorted by extension.
const EXTENSIONS: [(&str, &str); 102] = [
    ("adb", "Ada"),
    ("ads", "Ada"),
    ("asm", "Assembly"),
    ("astro", "Astro"),
    ("awk", "Awk"),
    ("bash", "Shell"),
    ("bat", "Batchfile"),
    ("bzl", "Starlark"),
    ("c", "C"),
    ("cc", "C++"),
    ("cjs", "JavaScript"),
    ("clj", "Clojure"),
    ("cljs", "Clojure"),
    ("cmake", "CMake"),
    ("cmd", "Batchfile"),
    ("coffee", "CoffeeScript"),
    ("cpp", "C++"),
    ("cr", "Crystal"),
    ("cs", "C#"),
    ("css", "CSS"),
    ("cu", "Cuda"),
    ("cxx", "C++"),
    ("d", "D"),
    ("dart", "Dart"),
    ("dockerfile", "Dockerfile"),
    ("el", "Emacs Lisp"),
    ("elm", "Elm"),
    ("erl", "Erlang"),
    ("ex", "Elixir"),
    ("exs", "Elixir"),
    ("f90", "Fortran"),
    ("f95", "Fortran"),
    ("fish", "Shell"),
    ("fs", "F#"),
    ("fsx", "F#"),
    ("gleam", "Gleam"),
    ("glsl", "GLSL"),
    ("go", "Go"),
    ("gradle", "Gradle"),
    ("groovy", "Groovy"),
    ("h", "C"),
    ("hcl", "HCL"),
    ("hh", "C++"),
    ("hpp", "C++"),
    ("hrl", "Erlang"),
    ("hs", "Haskell"),
    ("htm", "HTML"),
    ("html", "HTML"),
    ("hxx", "C++"),
    ("java", "Java"),
    ("jl", "Julia"),
    ("js", "JavaScript"),
    ("jsx", "JavaScript"),
    ("kt", "Kotlin"),
    ("kts", "Kotlin"),
    ("less", "Less"),
    ("lisp", "Common Lisp"),
    ("lua", "Lua"),
    ("m", "Objective-C"),
    ("mjs", "JavaScript"),
    ("mk", "Makefile"),
    ("ml", "OCaml"),
    ("mli", "OCaml"),
    ("mm", "Objective-C++"),
    ("mts", "TypeScript"),
    ("nim", "Nim"),
    ("nix", "Nix"),
    ("pas", "Pascal"),
    ("php", "PHP"),
    ("pl", "Perl"),
    ("pm", "Perl"),
    ("ps1", "PowerShell"),
    ("py", "Python"),
    ("pyi", "Python"),
    ("r", "R"),
    ("rb", "Ruby"),
    ("rkt", "Racket"),
    ("rs", "Rust"),
    ("s", "Assembly"),
    ("sass", "Sass"),
    ("scala", "Scala"),
    ("scm", "Scheme"),
    ("scss", "SCSS"),
    ("sh", "Shell"),
    ("sol", "Solidity"),
    ("sv", "SystemVerilog"),
    ("svelte", "Svelte"),
    ("swift", "Swift"),
    ("tcl", "Tcl"),
    ("tex", "TeX"),
    ("tf", "HCL"),
    ("ts", "TypeScript"),
    ("tsx", "TypeScript"),
    ("v", "Verilog"),
    ("vb", "Visual Basic .NET"),
    ("vhd", "VHDL"),
    ("vhdl", "VHDL"),
    ("vim", "Vim Script"),
    ("vue", "Vue"),
    ("wat", "WebAssembly"),
    ("zig", "Zig"),
    ("zsh", "Shell"),
];

/// Languages by the whole file name.
const FILE_NAMES: [(&str, &str); 12] = [
    ("BUILD", "Starlark"),
    ("BUILD.bazel", "Starlark"),
    ("CMakeLists.txt", "CMake"),
    ("Containerfile", "Dockerfile"),
    ("Dockerfile", "Dockerfile"),
    ("GNUmakefile", "Makefile"),
    ("Gemfile", "Ruby"),
    ("Jenkinsfile", "Groovy"),
    ("Makefile", "Makefile"),
    ("Rakefile", "Ruby"),
    ("Vagrantfile", "Ruby"),
    ("makefile", "Makefile"),
];

/// Directories whose files come from other projects or are written by tools.
const FOREIGN_DIRECTORIES: [&str; 15] = [
    ".git",
    ".yarn",
    "Carthage",
    "Godeps",
    "Pods",
    "__generated__",
    "bower_components",
    "deps",
    "dist",
    "extern",
    "external",
    "node_modules",
    "third_party",
    "vendor",
    "vendors",
];

/// Ends of the names of files that tools write, in lower case.
const GENERATED_ENDS: [&str; 14] = [
    ".min.js",
    ".min.css",
    "-min.js",
    ".bundle.js",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    ".pb.rs",
    "_pb2.py",
    "_pb2_grpc.py",
    ".g.dart",
    ".designer.cs",
    ".g.cs",
    "_pb.js",
];

/// Returns the language of the file at `path`. `None`: not known, not counted, vendored or generated.
pub fn of_path(path: &str) -> Option<&'static str> {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    if directories.split('/').any(|directory| FOREIGN_DIRECTORIES.contains(&directory)) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    if GENERATED_ENDS.iter().any(|end| lower.ends_with(end)) {
        return None;
    }
    if let Some((_, language)) = FILE_NAMES.iter().find(|(known, _)| *known == name) {
        return Some(*language);
    }
    let (_, extension) = lower.rsplit_once('.')?;
    let at = EXTENSIONS.binary_search_by(|(known, _)| (*known).cmp(extension)).ok()?;
    Some(EXTENSIONS[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_sorted_without_repetition() {
        assert!(EXTENSIONS.is_sorted_by(|(one, _), (other, _)| one < other));
    }

    #[test]
    fn the_language_follows_from_the_extension_or_the_file_name() {
        for (path, language) in [
            ("src/main.rs", "Rust"),
            ("A.PY", "Python"),
            ("Makefile", "Makefile"),
            ("deep/CMakeLists.txt", "CMake"),
            ("x.d.ts", "TypeScript"),
            ("vendor.go", "Go"),
        ] {
            assert_eq!(of_path(path), Some(language), "{path}");
        }
        for path in ["README.md", "a.json", "rs", ".rs/x", "", "x.", "LICENSE"] {
            assert_eq!(of_path(path), None, "{path}");
        }
    }

    #[test]
    fn vendored_and_generated_paths_have_no_language() {
        for path in ["vendor/a.go", "x/node_modules/y/a.js", "app.min.js", "api/x.pb.go", "x_PB2.py", "dist/a.css"] {
            assert_eq!(of_path(path), None, "{path}");
        }
    }
}
