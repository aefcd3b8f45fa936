/* gweb.js - pages that follow what happens
 *
 * All pages work without this script. With it, a page hears of each change by server-sent events and
 * puts the new <main> in place of the old one, as its address gives it. What the reader is about stays:
 * the focus, the position, what is typed into a form, what was opened. Nothing is asked for while
 * the page is hidden or a text is selected; what changed meanwhile is then asked for once.
 */
"use strict";

(() => {
	const PAUSE = 2000;               /* ms, between two fetches at least; main's data-pause goes before */
	const PATIENCE = 10000;           /* ms, without a stream of changes until it is said and made anew */
	const LATER = 60000;              /* ms, until a part that comes later is asked for again */
	const parts = new Map();          /* its address: { at, text } */
	const opened = new Map();         /* id of a job whose reasons are shown: their HTML */
	let due = false, busy = false, last = 0, timer = 0, serial = "";
	let closeSource = () => {};       /* of the present stream of changes */

	window.addEventListener("pagehide", () => closeSource());

	const main = () => document.getElementById("main");

	/* --- what is kept ------------------------------------------------------------------------ */

	/* The focused element in words that find it, or its like, in the new text. */
	function place(element) {
		const root = main();

		if (!element || element === root || !root.contains(element))
			return null;
		if (element.id)
			return { id: element.id };
		const href = element.getAttribute("href");
		if (!href)
			return null;
		const same = [...root.querySelectorAll("a[href]")].filter(a => a.getAttribute("href") === href);
		return { href, nth: same.indexOf(element) };
	}

	function find(root, where) {
		if (where.id)
			return document.getElementById(where.id);
		const same = [...root.querySelectorAll("a[href]")].filter(a => a.getAttribute("href") === where.href);
		return same[where.nth] || same[0] || null;
	}

	function swap(next) {
		const old = main();
		const where = place(document.activeElement);
		const scrolls = [...old.querySelectorAll(".scroll")].map(e => e.scrollLeft);
		const at = [window.scrollX, window.scrollY];

		/* Forms are moved, not copied: with them goes what is typed, and the cursor. */
		const active = document.activeElement;
		for (const form of old.querySelectorAll("form[id]")) {
			const other = next.querySelector("form[id='" + form.id + "']");
			if (other && (form.dataset.touched || form.contains(active)))
				other.replaceWith(form);
		}
		for (const d of old.querySelectorAll("details[id][open]")) {
			const other = next.querySelector("details[id='" + d.id + "']");
			if (other)
				other.open = true;
		}
		old.replaceChildren(...next.childNodes);
		for (const name of ["data-serial", "data-pause"])
			if (next.hasAttribute(name))
				old.setAttribute(name, next.getAttribute(name));
		[...old.querySelectorAll(".scroll")].forEach((e, i) => { e.scrollLeft = scrolls[i] || 0; });
		for (const id of opened.keys())
			showReasons(id);
		fillParts().catch(() => {});
		const element = old.contains(active) ? active : where && find(old, where);
		if (element)
			element.focus({ preventScroll: true });
		window.scrollTo(at[0], at[1]);
	}

	/* --- what comes later --------------------------------------------------------------------- */

	/* A part that takes its time is a link to a page of its own; that page's text comes in its place. */
	function putPart(element, text) {
		const part = new DOMParser().parseFromString(text, "text/html").getElementById("main");

		for (const heading of part.querySelectorAll("h1"))
			heading.remove();
		element.replaceChildren(...part.childNodes);
	}

	async function fillParts() {
		for (const element of main().querySelectorAll("[data-later]")) {
			const address = element.dataset.later, known = parts.get(address);

			if (known && known.text)
				putPart(element, known.text);
			if (known && Date.now() - known.at < LATER)
				continue;
			parts.set(address, { at: Date.now(), text: known ? known.text : "" });
			const answer = await fetch(address, { headers: { "X-Part": "main" }, credentials: "same-origin" });
			if (!answer.ok)
				continue;
			parts.set(address, { at: Date.now(), text: await answer.text() });
			for (const now of main().querySelectorAll("[data-later]"))
				if (now.dataset.later === address)
					putPart(now, parts.get(address).text);
		}
	}

	/* --- changes ----------------------------------------------------------------------------- */

	function pause() {
		return Number(main().dataset.pause || 0) || PAUSE;
	}

	function mayFetch() {
		const selection = document.getSelection();
		const choosing = document.activeElement && document.activeElement.tagName === "SELECT";

		return !document.hidden && !busy && !choosing && (!selection || selection.isCollapsed);
	}

	async function refresh() {
		timer = 0;
		if (!due || !mayFetch())
			return;
		const wait = last + pause() - Date.now();
		if (wait > 0) {
			timer = setTimeout(refresh, wait);
			return;
		}
		busy = true;
		try {
			const answer = await fetch(location.href, { headers: { "X-Part": "main" }, credentials: "same-origin" });
			const text = await answer.text();
			const next = new DOMParser().parseFromString(text, "text/html").getElementById("main");

			due = false;
			if (next)
				swap(next);
			say(answer.ok ? "" : "The page is not up to date: the server answers " + answer.status + ".");
		} catch (error) {
			say("The page is not up to date: the server does not answer.");
		}
		last = Date.now();
		busy = false;
		later();
	}

	function later() {
		if (due && !timer)
			timer = setTimeout(refresh, Math.max(last + pause() - Date.now(), 50));
	}

	function say(text) {
		const status = document.getElementById("live");

		if (status && status.textContent !== text)
			status.textContent = text;
	}

	function listen() {
		const address = document.documentElement.dataset.events;
		if (!address || !window.EventSource)
			return;
		const source = new EventSource(address);
		let lost = 0;

		source.addEventListener("changed", event => {
			if (event.data === serial || event.data === main().dataset.serial)
				return;
			serial = event.data;
			due = true;
			later();
		});
		source.addEventListener("beat", () => {
			due = true;
			later();
		});
		/* Each stream ends after a time, and the browser comes back at once; but not where the
		 * answer is none, as that of a proxy while gweb restarts. */
		source.addEventListener("error", () => {
			lost = lost || setTimeout(() => {
				lost = 0;
				say("No connection for changes: trying again.");
				if (source.readyState === EventSource.CLOSED)
					listen();
			}, PATIENCE);
		});
		source.addEventListener("open", () => {
			clearTimeout(lost);
			lost = 0;
			say("");
		});
		closeSource = () => source.close();
	}

	/* --- reasons at a click ------------------------------------------------------------------- */

	function rowOf(id) {
		const link = main().querySelector("a[data-why='" + CSS.escape(id) + "']");

		return link && link.closest("tr");
	}

	function showReasons(id) {
		const row = rowOf(id);
		if (!row)
			return;
		row.querySelector("a[data-why]").setAttribute("aria-expanded", "true");
		const more = document.createElement("tr");
		const cell = document.createElement("td");
		more.className = "opened";
		cell.colSpan = row.cells.length;
		cell.append(...new DOMParser().parseFromString(opened.get(id), "text/html").body.childNodes);
		more.append(cell);
		row.after(more);
	}

	function hideReasons(id) {
		const row = rowOf(id);

		opened.delete(id);
		if (!row)
			return;
		row.querySelector("a[data-why]").setAttribute("aria-expanded", "false");
		if (row.nextElementSibling && row.nextElementSibling.className === "opened")
			row.nextElementSibling.remove();
	}

	async function toggleReasons(link) {
		const id = link.dataset.why;

		if (opened.has(id)) {
			hideReasons(id);
			return;
		}
		const answer = await fetch("/job/" + encodeURIComponent(id) + "/why", { credentials: "same-origin" });
		if (!answer.ok) {
			location.href = link.href;
			return;
		}
		opened.set(id, await answer.text());
		showReasons(id);
	}

	document.addEventListener("click", event => {
		const link = event.target.closest("a[data-why]");

		if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button)
			return;
		event.preventDefault();
		toggleReasons(link).catch(() => { location.href = link.href; });
	});
	document.addEventListener("input", event => {
		const form = event.target.closest("form[id]");

		if (form)
			form.dataset.touched = "1";
	});
	/* A choice is a question already; a text is one with Enter. */
	document.addEventListener("change", event => {
		if (event.target.tagName === "SELECT" && event.target.form && event.target.form.method === "get")
			event.target.form.requestSubmit();
	});
	document.addEventListener("visibilitychange", later);
	document.addEventListener("selectionchange", later);
	document.addEventListener("focusin", later);
	fillParts().catch(() => {});
	listen();
})();
