//! The HTML of the pages. All values from users are escaped.

use std::fmt::Write as _;

/// Returns the page at `/`.
pub(super) fn root(root_url: &str) -> String {
    let body = format!(
        "<p>This is farrier: git hosting, CI artifacts and webhooks for the terminal.</p>\n\
         <pre>farrier --url {}</pre>\n\
         <p><a href=\"/api/swagger\">The API</a></p>\n",
        escaped(root_url)
    );
    document("farrier", &body)
}

/// Returns the page of a repository, or of a commit in it.
pub(super) fn repository(path: &str, description: &str, clone_url: &str, commit: Option<&str>) -> String {
    let mut body = String::new();
    if !description.is_empty() {
        let _ = writeln!(body, "<p>{}</p>", escaped(description));
    }
    let _ = writeln!(body, "<pre>git clone {}\nfarrier repo show {}</pre>", escaped(clone_url), escaped(path));
    if let Some(commit) = commit {
        let _ = writeln!(body, "<p>Show the commit in a clone:</p>\n<pre>git show {}</pre>", escaped(commit));
    }
    let api = format!("/api/v1/repos/{path}");
    let _ = writeln!(body, "<p><a href=\"{}\">The repository in the API</a></p>", escaped(&api));
    document(path, &body)
}

/// Returns the page of a user or an organization. `rows`: paths and descriptions of repositories to list. `total`: the
/// number of all repositories.
pub(super) fn owner(name: &str, rows: &[(String, &str)], total: u64) -> String {
    let mut body = String::new();
    if rows.is_empty() {
        body.push_str("<p>No repositories.</p>\n");
    } else {
        body.push_str("<ul>\n");
        for (path, description) in rows {
            let path = escaped(path);
            let _ = writeln!(body, "<li><a href=\"/{path}\">{path}</a> {}</li>", escaped(description));
        }
        body.push_str("</ul>\n");
    }
    let more = total.saturating_sub(rows.len() as u64);
    if more > 0 {
        let _ = writeln!(body, "<p>{more} more: farrier repo list --owner {}</p>", escaped(name));
    }
    document(name, &body)
}

/// Returns the page for an object that does not exist or that the caller may not see.
pub(super) fn not_found() -> String {
    document("Not found", "<p>This page does not exist, or you may not see it.</p>\n")
}

/// Returns the page for callers who must sign in.
pub(super) fn unauthenticated() -> String {
    document("Sign in", "<p>This farrier has no anonymous access. Sign in with an access token as password.</p>\n")
}

fn document(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n</head>\n\
         <body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}

/// Escapes text for an element or for an attribute in double quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_users_are_escaped() {
        let evil = "<script>alert(\"1\" & '2')</script>";
        for page in [root(evil), repository(evil, evil, evil, Some(evil)), owner(evil, &[(evil.to_owned(), evil)], 2)] {
            assert!(!page.contains("<script") && !page.contains("\"1\"") && !page.contains("'2'"), "{page}");
            assert!(page.contains("&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)"), "{page}");
        }
    }
}
