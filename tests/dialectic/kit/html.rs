use std::panic::catch_unwind;

use crate::support::{assert_nested, tags};

#[test]
fn tags_are_read_with_their_attributes() {
    let html =
        "<!-- <b> --><p class=\"a > b\" ID='x' hidden>1 < 2</p><br/><img src=y onerror=z><style>p > a {}</style>";
    let read = tags(html);
    let names: Vec<String> =
        read.iter().map(|tag| format!("{}{}", if tag.is_end { "/" } else { "" }, tag.name)).collect();
    assert_eq!(names, ["p", "/p", "br", "img", "style", "/style"]);
    assert_eq!(read[0].attribute("class"), Some("a > b"));
    assert_eq!((read[0].attribute("id"), read[0].attribute("hidden")), (Some("x"), Some("")));
    assert_eq!(read[3].attribute("onerror"), Some("z"));
}

#[test]
fn elements_that_do_not_nest_are_found() {
    assert_nested("<p>a <b>b</b><br>c<input disabled /></p><svg><rect/></svg>");
    for broken in ["<p>", "</p>", "<p><b></p></b>", "<div><p></div>"] {
        assert!(catch_unwind(|| assert_nested(broken)).is_err(), "{broken}");
    }
}
