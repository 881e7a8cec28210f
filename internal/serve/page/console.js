"use strict";
// Asks for the page again and puts what has changed into it: focus, scrolling and open details stay.
(() => {
  const every = 3000;
  const news = document.getElementById("news");
  let lost = false;

  const states = () => new Map([...document.querySelectorAll("[id^='job-']")].map(e => [e.id.slice(4), (e.querySelector(".says") || e).textContent]));

  function say(before) {
    const said = [];
    for (const [job, state] of states()) if (before.has(job) ? before.get(job) !== state : before.size) said.push(job + ": " + state);
    if (said.length) news.textContent = said.slice(0, 3).join("; ") + (said.length > 3 ? "; and " + (said.length - 3) + " more" : "");
  }

  function become(was, is) {
    if (was.isEqualNode(is)) return;
    if (was.nodeName !== is.nodeName || was.id !== is.id) return was.replaceWith(document.importNode(is, true));
    if (was.nodeType !== Node.ELEMENT_NODE) { was.data = is.data; return; }
    for (const a of [...was.attributes]) if (a.name !== "open" && !is.hasAttribute(a.name)) was.removeAttribute(a.name);
    for (const a of is.attributes) if (was.getAttribute(a.name) !== a.value) was.setAttribute(a.name, a.value);
    let at = was.firstChild;
    for (const next of [...is.childNodes]) {
      let here = at;
      if (next.id && (!at || at.id !== next.id)) here = [...was.children].find(c => c.id === next.id);
      else if (at && at.id && !next.id) here = null;
      if (!here) { was.insertBefore(document.importNode(next, true), at); continue; }
      if (here === at) at = at.nextSibling; else was.insertBefore(here, at);
      become(here, next);
    }
    while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
  }

  async function renew() {
    if (document.hidden) return;
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok && answer.status !== 404) throw new Error(answer.status);
      const is = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
      if (!is) throw new Error("no page");
      if (lost) news.textContent = "The console answers again.";
      lost = false;
      const before = states(), focused = document.activeElement;
      become(document.getElementById("live"), is);
      if (focused.isConnected) focused.focus({ preventScroll: true }); // a row that has moved has lost it
      say(before);
    } catch {
      if (!lost) news.textContent = "The console does not answer: this page is as it was at " + new Date().toLocaleTimeString() + ".";
      lost = true;
    }
  }

  setInterval(renew, every);
  document.addEventListener("visibilitychange", renew);
})();
