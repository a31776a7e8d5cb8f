"""Sixty strings that have a special meaning in some program (HTML, scripts, templates, quotes, text direction, control
characters) or are very long.
"""

from __future__ import annotations

HIT = "window.hit=1"
STRINGS = (
    # elements and attributes
    f"<script>{HIT}</script>", f"</script><script>{HIT}</script>", f"<img src=x onerror={HIT}>",
    f"<svg onload={HIT}>",
    f"\"><img src=x onerror={HIT}>", f"'><img src=x onerror={HIT}>", f"</title><script>{HIT}</script>",
    f"</style><script>{HIT}</script>",
    f"</textarea><img src=x onerror={HIT}>", f"<iframe srcdoc=\"<script>parent.{HIT}</script>\">",
    f"<body onload={HIT}>", f"<a href=javascript:{HIT}>a</a>",
    f"<details open ontoggle={HIT}>", f"<input autofocus onfocus={HIT}>", f"<b onmouseover={HIT}>b</b>",
    "<base href=//example.org>",
    "<meta http-equiv=refresh content=0;url=//example.org>", "<link rel=stylesheet href=//example.org/x.css>",
    "<img src=//example.org/x.png>", "<plaintext>",
    # comments and terminators of other languages
    "<!--", "-->", "<!-- <script>", "]]>", "<![CDATA[", "*/", "/*", "//", "<?php echo 1 ?>", "<%= 7 * 7 %>",
    # templates, formats and shells
    "{{ 7 * 7 }}", "{% raw %}", "{# #}", "${7*7}", "`${window.hit=1}`", "%(x)s", "%s%n", "{0}", "$(touch hit)",
    "; touch hit;",
    # quotes, escapes and spreadsheets
    "'", '"', "`", "\\", "\\\"", "&lt;b&gt;", "&#x3c;b&#x3e;", "=HYPERLINK(1)", "[red]rich[/red]", ":smile:",
    # text direction, invisible and wide characters
    "\u202egnp.exe", "\u2066\u2067\u2069", "\u200b\u200d\ufeff", "\u2028\u2029", "e\u0301" * 20, "\U0001f4a3" * 10,
    "\u0635\u0628\u0627\u062d \u05e9\u05dc\u05d5\u05dd",
    # strings that some programs do not accept as text
    "name\twith\ttabs", "line\nbreak\r\n", "x" * 10_000,
)  # fmt: skip
assert len(STRINGS) == 60
