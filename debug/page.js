'use strict';

// Every 2 s the page fetches itself and replaces its live part, and less often where that takes long: the process reads its
// locks in at most 1 % of the time, and at most 10 % is spent on requests. So the page does not change the p99 of a lock.
(() => {
  const pause = 2000;
  const updating = document.getElementById('updating');
  const trouble = document.getElementById('trouble');
  let last = new Date();

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
    const begun = performance.now();
    if (updating.checked && !document.hidden && !reading(live)) {
      try {
        const response = await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(15000) });
        const text = await response.text();
        if (!response.ok) {
          throw new Error(response.status + ' ' + text.slice(0, 200));
        }
        const fresh = new DOMParser().parseFromString(text, 'text/html');
        if (!reading(live)) {
          showProcess(fresh); // another one may reply at the address now
          live.replaceWith(document.adoptNode(fresh.getElementById('live')));
        }
        last = new Date();
        trouble.textContent = '';
      } catch (err) {
        trouble.textContent = 'Not updated since ' + last.toLocaleTimeString() + ': ' + err.message;
      }
    }
    setTimeout(update, pauseAfter(performance.now() - begun));
  }

  // pauseAfter returns how long to wait after an update that took so long, in milliseconds.
  function pauseAfter(took) {
    const read = Number(document.getElementById('live').dataset.readMs);
    return Math.max(pause, 10 * took, 100 * read);
  }

  setTimeout(update, pauseAfter(0));
})();
