//! The pane beside a list always shows the row under the cursor.

use farrier_common::api::{Delivery, Hook};

use super::prelude::*;

/// A pseudo-random sequence that is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn some(&mut self) -> Vec<i64> {
        (10..30).filter(|_| self.below(3) > 0).collect()
    }
}

fn sent(id: i64) -> Delivery {
    Delivery {
        guid: format!("000000{id}-44b0-4a51-8a53-0d7a1b6f0c00"),
        event: format!("event{id}"),
        ..delivery(id, "failed", 500)
    }
}

fn hook(id: i64) -> Hook {
    Hook {
        id,
        r#type: "farrier".into(),
        scope: "system".into(),
        url: format!("https://host{id}.lan/"),
        ..Hook::default()
    }
}

/// Returns the number that follows `before` in `text`.
fn number(text: &str, before: &str) -> Option<String> {
    let digits: String = text.split_once(before)?.1.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

/// Returns the row under the cursor and the pane beside the list.
fn halves(screen: &TestScreen) -> (String, String) {
    let text = screen.text();
    let split = |line: &str| line.split_once('│').map(|(left, right)| (left.to_owned(), right.to_owned()));
    let rows: Vec<(String, String)> = text.lines().filter_map(split).collect();
    let cursor = rows.iter().find(|(left, _)| left.starts_with('>')).map(|(left, _)| left.clone());
    (cursor.unwrap_or_default(), rows.into_iter().map(|(_, right)| right + "\n").collect())
}

fn step(screen: &mut TestScreen, dice: &mut Dice) {
    match dice.below(12) {
        0..3 => screen.keys("j"),
        3 => screen.keys("k"),
        4 => screen.keys("G"),
        5 => screen.keys(&format!("/{}\n", dice.below(4))),
        6 => screen.keys("/nothing\n"),
        7 => screen.press(Key::Esc),
        8 => screen.keys("!"),
        9 => screen.keys("\t"),
        _ => screen.rest_cursor(),
    }
    // The user leaves the screen and comes back.
    if dice.below(5) == 0 {
        screen.advance(Duration::from_secs(6));
    }
}

#[test]
fn the_delivery_pane_shows_the_row_under_the_cursor_or_nothing() {
    let (mut shown, mut screen, mut dice) = (0, TestScreen::loaded(120, 40), Dice(7));
    screen.keys("4");
    for _ in 0..600 {
        step(&mut screen, &mut dice);
        if screen.app.current != ScreenId::Deliveries {
            screen.keys("4");
        }
        let open: Vec<_> = screen.app.pending.iter().map(|(ticket, one)| (*ticket, one.request.clone())).collect();
        for (ticket, request) in open {
            if dice.below(3) == 0 {
                continue;
            }
            let answer = match request {
                Request::Deliveries { .. } => {
                    let items: Vec<Delivery> = dice.some().into_iter().rev().map(sent).collect();
                    let total = i64::try_from(items.len()).ok();
                    listed_deliveries(&items, total)
                }
                Request::Delivery(guid) => detail(sent(guid[6..8].parse().unwrap())),
                _ => continue,
            };
            screen.send(Msg::Answer(ticket, Ok(answer)));
        }
        let (row, pane) = halves(&screen);
        let (selected, beside) = (number(&row, "event"), number(&pane, "000000"));
        assert!(beside.is_none() || beside == selected, "{}", screen.text());
        shown += u32::from(beside.is_some());
    }
    assert!(shown > 100, "the pane showed something {shown} times");
}

#[test]
fn a_pane_with_the_focus_gets_more_room_in_narrow_terminals() {
    let divider = |screen: &TestScreen| {
        screen.text();
        screen.app.world.divider.get().x
    };
    let mut screen = TestScreen::loaded(120, 40);
    let usual = divider(&screen);
    screen.keys("\n");
    assert!(divider(&screen) < usual && divider(&screen) >= 40, "{}", screen.text());
    assert!(screen.text().contains("[Overview]"), "{}", screen.text());
    screen.press(Key::Esc);
    assert_eq!(divider(&screen), usual, "the list has the focus again");
    // The position that the user chose stays.
    screen.app.world.pane_share = Some(500);
    screen.keys("\n");
    assert_eq!(divider(&screen), 60);

    let mut wide = TestScreen::loaded(200, 60);
    let usual = divider(&wide);
    wide.keys("\n");
    assert_eq!(divider(&wide), usual, "both panes have room");
}

#[test]
fn the_hook_pane_shows_the_row_under_the_cursor_or_nothing() {
    let (mut shown, mut screen, mut dice) = (0, TestScreen::loaded(120, 40), Dice(11));
    screen.keys("3");
    for _ in 0..600 {
        step(&mut screen, &mut dice);
        let open: Vec<_> = screen.app.pending.iter().map(|(ticket, one)| (*ticket, one.request.clone())).collect();
        for (ticket, request) in open {
            if dice.below(3) == 0 {
                continue;
            }
            let answer = match request {
                Request::Hooks(_) => listed_hooks(dice.some().into_iter().map(hook).collect()),
                Request::LastDeliveries(of) => {
                    last_deliveries(&[Delivery { event: format!("sent{of}"), ..delivery(12, "failed", 500) }])
                }
                _ => continue,
            };
            screen.send(Msg::Answer(ticket, Ok(answer)));
        }
        let (row, pane) = halves(&screen);
        let (selected, beside) = (number(&row, "host"), number(&pane, "hook "));
        assert!(beside.is_none() || beside == selected, "{}", screen.text());
        let last = number(&pane, "sent");
        assert!(last.is_none() || last == selected, "{}", screen.text());
        shown += u32::from(beside.is_some());
    }
    assert!(shown > 100, "the pane showed something {shown} times");
}
