//! Parses the block list: XML with the ids of uploaded blocks in their order.

use quick_xml::{Reader, events::Event};

/// Largest body, bytes: 50,000 ids of 88 characters with their elements.
pub(super) const BODY_MAX_BYTES: usize = 8 << 20;

/// The body is not a valid block list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is not a block list: {0}")]
pub struct BlockListError(String);

/// Returns the ids in a block list, in order.
///
/// `Latest`, `Committed` and `Uncommitted` mean the same here: an upload has one set of blocks.
/// Declarations, white space and comments are skipped, entities beyond XML's own are refused.
pub fn block_ids(body: &[u8]) -> Result<Vec<String>, BlockListError> {
    let wrong = |what: &str| BlockListError(what.to_owned());
    let text = std::str::from_utf8(body).map_err(|_| wrong("it is not UTF-8"))?;
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut state = State::Before;
    let mut ids = Vec::new();
    loop {
        let event = reader.read_event().map_err(|error| BlockListError(error.to_string()))?;
        state = match (state, event) {
            (State::Before, Event::Start(tag)) if tag.local_name().as_ref() == "BlockList" => State::Inside,
            (State::Before, Event::Empty(tag)) if tag.local_name().as_ref() == "BlockList" => State::After,
            (State::Inside, Event::Start(tag)) if is_block(tag.local_name().as_ref()) => State::Block(String::new()),
            (State::Inside, Event::End(_)) => State::After,
            (State::Block(mut id), Event::Text(text)) => {
                id.push_str(&text);
                State::Block(id)
            }
            (State::Block(mut id), Event::GeneralRef(entity)) => {
                let escaped = format!("&{};", &*entity);
                let plain = quick_xml::escape::unescape(&escaped).map_err(|error| BlockListError(error.to_string()))?;
                id.push_str(&plain);
                State::Block(id)
            }
            (State::Block(id), Event::End(_)) => {
                ids.push(id.trim().to_owned());
                State::Inside
            }
            (state, Event::Decl(_) | Event::Comment(_)) => state,
            (state @ (State::Before | State::Inside | State::After), Event::Text(text))
                if text.trim_ascii().is_empty() =>
            {
                state
            }
            (State::After, Event::Eof) => return Ok(ids),
            (_, Event::Eof) => return Err(wrong("it ends early")),
            _ => return Err(wrong("an element or a text is not allowed at its position")),
        };
    }
}

enum State {
    Before,
    Inside,
    Block(String),
    After,
}

fn is_block(name: &str) -> bool {
    matches!(name, "Latest" | "Committed" | "Uncommitted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_lists_of_clients_are_parsed() {
        for (body, expected) in [
            (
                "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?><BlockList><Latest>YQ==</Latest><Latest>Yg==</Latest></BlockList>",
                &["YQ==", "Yg=="][..],
            ),
            ("<?xml version=\"1.0\"?><BlockList/>", &[]),
            ("<BlockList></BlockList>", &[]),
            (
                "\u{feff}<BlockList>\n  <Committed>a</Committed>\n  <Uncommitted> b </Uncommitted>\n</BlockList>\n",
                &["a", "b"],
            ),
            ("<BlockList><!-- x --><Latest>a&amp;b&#43;</Latest></BlockList>", &["a&b+"]),
        ] {
            assert_eq!(block_ids(body.as_bytes()).expect(body), expected, "{body}");
        }
    }

    #[test]
    fn malformed_block_lists_are_refused() {
        for body in [
            "",
            "x",
            "{}",
            "<BlockList>",
            "<BlockList><Latest>a</BlockList>",
            "<BlockList><Latest>a</Latest>",
            "<Blocks/>",
            "<BlockList><Other>a</Other></BlockList>",
            "<BlockList>text</BlockList>",
            "<BlockList/><BlockList/>",
            "<BlockList><Latest><b/></Latest></BlockList>",
            "<!DOCTYPE x [<!ENTITY a \"b\">]><BlockList><Latest>&a;</Latest></BlockList>",
            "<BlockList><Latest>&unknown;</Latest></BlockList>",
        ] {
            assert!(block_ids(body.as_bytes()).is_err(), "{body}");
        }
        assert!(block_ids(b"<BlockList><Latest>\xff</Latest></BlockList>").is_err());
    }
}
