//! The stylesheet: its hash, that it loads nothing, and that its colours are readable on their backgrounds, in both
//! schemes and in print.

use std::collections::BTreeMap;

use super::*;

const STYLE: &str = include_str!("page.css");
/// The contrast that WCAG 2 requires of text at level AA.
const ENOUGH: f64 = 4.5;

/// The colours of each scheme in the stylesheet by name. Later schemes override colours of the first.
fn schemes() -> Vec<BTreeMap<String, [f64; 3]>> {
    let mut schemes: Vec<BTreeMap<String, [f64; 3]>> = Vec::new();
    for block in STYLE.split(":root {").skip(1) {
        let block = block.split('}').next().unwrap();
        let mut colours = schemes.first().cloned().unwrap_or_default();
        for declaration in block.split(';') {
            if let Some((name, value)) = declaration.trim().split_once(": #") {
                let channel = |at: usize| f64::from(u8::from_str_radix(&value[at..at + 2], 16).unwrap()) / 255.0;
                colours.insert(name.to_owned(), [channel(0), channel(2), channel(4)]);
            }
        }
        schemes.push(colours);
    }
    schemes
}

/// Relative luminance, as WCAG 2 defines it.
fn luminance(colour: [f64; 3]) -> f64 {
    let [r, g, b] = colour.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

#[test]
fn contrast_is_computed_as_wcag_does() {
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
    let grey = [f64::from(0x77) / 255.0; 3];
    assert!((contrast(grey, [1.0; 3]) - 4.48).abs() < 0.01);
}

#[test]
fn all_text_has_enough_contrast() {
    let schemes = schemes();
    assert_eq!(schemes.len(), 3, "light, dark and print");
    let on_page: Vec<String> = ["ink", "soft", "link", "good", "warn", "bad", "judge"]
        .map(str::to_owned)
        .into_iter()
        .chain((1..=8).map(|n| format!("a{n}")))
        .collect();
    let others = [
        ("ink", "raised"),
        ("soft", "raised"),
        ("link", "raised"),
        ("good", "good-back"),
        ("warn", "warn-back"),
        ("bad", "bad-back"),
        ("ink", "warn-back"),
        ("ink", "bad-back"),
        ("link", "warn-back"),
        ("soft", "warn-back"),
    ];
    let pairs: Vec<(&str, &str)> = on_page.iter().map(|name| (name.as_str(), "page")).chain(others).collect();
    for (scheme, colours) in schemes.iter().enumerate() {
        for (text, back) in &pairs {
            let [text_colour, back_colour] = [text, back].map(|name| colours[&format!("--{name}")]);
            let contrast = contrast(text_colour, back_colour);
            assert!(contrast >= ENOUGH, "--{text} on --{back} in scheme {scheme}: {contrast:.2}");
        }
    }
}

#[test]
fn a_hash_is_written_as_browsers_read_it() {
    // `printf abc | openssl dgst -sha256 -binary | base64`
    assert_eq!(hash("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

#[test]
fn the_stylesheet_loads_nothing_and_cannot_leave_its_element() {
    for loading in ["url(", "@import", "@font-face", "image-set(", "</", "<!--"] {
        assert!(!STYLE.contains(loading), "{loading}");
    }
}

#[test]
fn a_stylesheet_without_spaces_says_the_same() {
    let written = "a, .b > c {\n  margin: 0 auto; content: \" x: y; \";\n}\n/* A remark. */\n\
                   @media print { d { top: calc(1px + 2px); } }\n";
    assert_eq!(compact(written), "a,.b > c{margin:0 auto;content:\" x: y; \"}@media print{d{top:calc(1px + 2px)}}");
    let compact = compact(STYLE);
    assert!(compact.len() + 2_000 < STYLE.len() && !compact.contains("/*") && !compact.contains('\n'));
    // What a browser reads in both: names and values, ignoring whitespace.
    let bare =
        |style: &str| style.lines().filter(|line| !line.starts_with("/*")).collect::<String>().replace(";}", "}");
    let bare = |style: &str| bare(style).replace([' ', ';'], "");
    assert_eq!(bare(&compact), bare(STYLE));
}

#[test]
fn quotation_marks_are_bare_in_text_and_escaped_in_tags() {
    let hostile = "\" onclick=\"x\">";
    let page = html! { p title=(hostile) { (hostile) "<b>" } };
    assert_eq!(
        bare_quotation_marks(&page.into_string()),
        "<p title=\"&quot; onclick=&quot;x&quot;&gt;\">\" onclick=\"x\"&gt;&lt;b&gt;</p>"
    );
}
