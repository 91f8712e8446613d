'use strict';

// Every 2 s the page fetches itself and replaces its live part, and less often where that takes long: the process reads
// its locks in at most 1 % of the time, and at most 10 % is spent on requests. So the page does not change the p99 of a
// lock. But one slow update delays the next by 10 s at most, and a failed one does not: an operator looks when things are
// slow.
(() => {
  const pause = 2000, longest = 10000;
  const late = 3000; // an update that comes later than this after the pause is said to be missing
  const updating = document.getElementById('updating');
  const trouble = document.getElementById('trouble');
  let shown = Date.now(); // since when the page shows what it shows
  let failure = ''; // of the last request
  let asking = false; // a request is in flight
  let wait = 0; // the present pause
  let due = shown; // when it ends
  let read = 0, readBefore = 0; // how long the process read for the last two updates

  // reading reports whether the operator selects text or has moved the focus into the live part.
  function reading(live) {
    const selection = document.getSelection();
    return (selection && !selection.isCollapsed) || live.contains(document.activeElement);
  }

  function showProcess(fresh) {
    document.title = fresh.title;
    document.getElementById('process').textContent = fresh.getElementById('process').textContent;
  }

  async function update() {
    const live = document.getElementById('live');
    if (!updating.checked || document.hidden || reading(live)) {
      pauseFor(pause);
      return;
    }
    const begun = performance.now();
    asking = true;
    try {
      const response = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(15000) });
      const text = await response.text();
      if (!response.ok) {
        throw new Error(response.status + ' ' + text.slice(0, 200));
      }
      const fresh = new DOMParser().parseFromString(text, 'text/html');
      const part = fresh.getElementById('live');
      if (!part) {
        throw new Error('the reply is not this page, as after a logout; reload it');
      }
      noteRead(part);
      if (!reading(live)) {
        showProcess(fresh); // another one may reply at the address now
        live.replaceWith(document.adoptNode(part));
        shown = Date.now();
      }
      failure = '';
      pauseFor(pauseAfter(performance.now() - begun));
    } catch (err) {
      failure = err.message;
      pauseFor(pause);
    }
    asking = false;
    tell();
  }

  function pauseFor(ms) {
    wait = ms;
    due = Date.now() + ms;
    setTimeout(update, ms);
  }

  function noteRead(live) {
    readBefore = read;
    read = Number(live.dataset.readMs);
  }

  // pauseAfter returns how long to wait after an update that took so long, in milliseconds. If the process read for
  // long twice in a row, its locks are very many, and the pause may be longer than the longest one.
  function pauseAfter(took) {
    return Math.max(pause, Math.min(longest, Math.max(10 * took, 100 * read)), 100 * Math.min(read, readBefore));
  }

  // missing returns why an update is missing; '' if none is.
  function missing() {
    if (failure) {
      return ': ' + failure;
    }
    if (!updating.checked || Date.now() - shown <= Math.min(wait, longest) + late) {
      return '';
    }
    if (reading(document.getElementById('live'))) {
      return ' while text is selected or a link has the focus';
    }
    if (!asking && wait > longest) {
      return ': reading the locks takes the process ' + read + ' ms, so the next update is at ' + new Date(due).toLocaleTimeString();
    }
    return asking ? ': no reply yet' : ': the tab was hidden'; // until the next update, within 2 s
  }

  // tell says since when the page shows an old state, if it does.
  function tell() {
    const why = missing();
    const text = why ? 'Not updated since ' + new Date(shown).toLocaleTimeString() + why : '';
    if (trouble.textContent !== text) {
      trouble.textContent = text;
    }
  }

  noteRead(document.getElementById('live'));
  pauseFor(pauseAfter(0));
  setInterval(tell, 1000);
})();
