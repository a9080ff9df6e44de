use super::*;

fn paths() -> DefaultPaths {
    DefaultPaths::from_env(|name| if name == "HOME" { Ok("/h".into()) } else { Err(std::env::VarError::NotPresent) })
}

fn parse(line: &str) -> Args {
    Args::try_parse_from(line.split(' ')).expect("known flags")
}

#[test]
fn flags_override_the_configuration_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("c.toml");
    std::fs::write(
        &path,
        "data_dir = \"/file\"\n[server]\nlisten = [\"127.0.0.1:1\"]\n[socket]\npath = \"/file.sock\"\n",
    )
    .expect("a file");
    let file = path.display();
    let config = configuration(&parse(&format!("farrierd --config {file}")), paths()).expect("valid");
    assert_eq!((config.data_dir, config.socket.path), ("/file".into(), "/file.sock".into()));
    let line =
        format!("farrierd --config {file} --data-dir /flag --listen [::1]:2 --listen localhost:3 --socket /flag.sock");
    let config = configuration(&parse(&line), paths()).expect("valid");
    assert_eq!((config.data_dir, config.socket.path), ("/flag".into(), "/flag.sock".into()));
    let listen: Vec<String> = config.server.listen.iter().map(ToString::to_string).collect();
    assert_eq!(listen, ["[::1]:2", "127.0.0.1:3"]);
}

#[test]
fn proxy_credentials_are_read_from_a_file_and_hidden_in_errors() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
    let with = |credentials: bool, webhook: &str| {
        write("c.toml", &format!("[webhook]\n{webhook}\n"));
        let mut paths = paths();
        paths.credentials = credentials.then(|| dir.path().to_owned());
        let config = configuration(&parse(&format!("farrierd --config {}/c.toml", dir.path().display())), paths);
        config.map(|config| config.webhook.proxy_url.expect("set").to_string()).map_err(|error| match error {
            ArgsError::Problems(problems) => problems[0].to_string(),
            ArgsError::Read { .. } => panic!("the file exists"),
        })
    };
    let (url, name) = ("proxy_url = \"http://h:1\"", "proxy_auth_file = \"proxy\"");
    let absent = with(true, &format!("{url}\n{name}")).expect_err("no such file");
    assert!(absent.contains("the credential with this name cannot be read"), "{absent}");
    write("proxy", "user:s3:cr@t/\n");
    assert_eq!(with(true, &format!("{url}\n{name}")).expect("read"), "http://user:s3%3Acr%40t%2F@h:1/");
    let path = format!("proxy_auth_file = \"{}/proxy\"", dir.path().display());
    assert!(with(false, &format!("{url}\n{path}")).is_ok());
    assert!(with(false, &format!("{url}\n{name}")).expect_err("no credentials").contains("provides none"));
    let reload = parse(&format!("farrierd --config {}/c.toml reload", dir.path().display()));
    with(false, &format!("{url}\n{name}")).expect_err("no credentials for the daemon");
    assert!(configuration(&reload, paths()).is_ok(), "reload needs no credentials");
    assert!(with(true, name).expect_err("no proxy").contains("needs webhook.proxy_url"));
    write("proxy", "s3cret");
    let half = with(true, &format!("{url}\n{name}")).expect_err("no user");
    assert!(half.contains("must hold user:password") && !half.contains("s3cret"), "{half}");
}

#[test]
fn the_default_socket_is_in_the_data_directory() {
    let config = configuration(&parse("farrierd --data-dir /x"), paths()).expect("valid");
    assert_eq!(config.socket.path, PathBuf::from("/x/farrier.sock"));
}

#[test]
fn invalid_flags_and_missing_files_are_reported() {
    let wrong = configuration(&parse("farrierd --listen nowhere"), paths());
    assert!(matches!(wrong, Err(ArgsError::Problems(problems)) if problems.len() == 1));
    assert!(matches!(configuration(&parse("farrierd --config /nonexistent"), paths()), Err(ArgsError::Read { .. })));
}
