// The page of a running program: it requests its data from its server, and again when there is more.
import {offerEvents} from "./controls.js";
import {readProfile} from "./data.js";
import {Page} from "./page.js";
import {element, find} from "./tools.js";

const REFRESH_MS = 2000;

export class Live {
  constructor() {
    const chosen = new URLSearchParams(location.search).get("event");
    Object.assign(this, {page: null, last: "", paused: false, source: chosen ? "data-" + encodeURIComponent(chosen) : "data"});
    const button = find("live");
    button.hidden = false;
    find("window").parentNode.hidden = false;
    find("window").addEventListener("change", () => { if (this.page) this.choose(this.page.profile); });
    button.addEventListener("click", () => {
      this.paused = !this.paused;
      button.setAttribute("aria-pressed", !this.paused);
    });
  }
  async run() {
    for (let running = true; running; await new Promise((done) => setTimeout(done, REFRESH_MS))) {
      if (!this.paused && !document.hidden || !this.page) running = await this.refresh();
    }
    this.tell("Ended");
  }
  tell(text) { find("live").textContent = text; }
  // Reads the data again; returns whether there may be more later.
  async refresh() {
    try {
      const response = await fetch(this.source), text = await response.text();
      if (!response.ok) throw new Error(text.trim());
      const data = JSON.parse(text);
      if (data.waiting) return this.wait(data.waiting);
      if (data.columns !== this.last) await this.show(data);
      this.last = data.columns;
      this.tell("Live");
      return data.running;
    } catch (error) {
      if (this.page) this.tell("Not served any more");
      else this.wait(error.message);
      return true;
    }
  }
  wait(why) {
    find("loading").textContent = "Waiting: " + why;
    return true;
  }
  // The last seconds, or all.
  choose(profile) {
    const steps = Math.ceil(Number(find("window").value) * 1e9 / (profile.bin || 1)), {bins} = profile;
    this.page.change({time: steps > 0 && steps < bins ? `${bins - steps}-${bins}` : "", zoom: ""});
  }
  async show(data) {
    const profile = Object.assign(await readProfile(data.profile, data.columns), {event: data.event, events: data.events});
    // Of the event that was asked for first there are samples now.
    if (this.page && profile.event !== this.page.profile.event) return location.reload();
    document.title = document.querySelector("h1").textContent = data.title;
    find("subtitle").textContent = data.subtitle;
    find("answer").textContent = data.answer;
    const list = document.querySelector(".facts dl");
    list.textContent = "";
    for (const [label, value] of data.facts) {
      element(list, "dt", {}, label);
      element(list, "dd", {}, value);
    }
    if (this.page) {
      this.page.replace(profile);
      if (Number(find("window").value) > 0) this.choose(profile);
      return;
    }
    offerEvents(profile);
    this.page = Page.instead(profile);
  }
}
