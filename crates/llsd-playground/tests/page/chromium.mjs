// Drives Chromium through its debugging pipe: NUL-ended JSON over two file descriptors, so nothing has to be installed
// for it.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PATIENCE = 60_000;

export class Chromium {
  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), 'chromium-'));
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
      '--remote-debugging-pipe', `--user-data-dir=${this.profile}`, 'about:blank'];
    this.process = spawn(program, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.waiting = new Map();
    this.listeners = [];
    this.next = 1;
    let rest = '';
    this.process.stdio[4].setEncoding('utf8').on('data', (piece) => {
      const messages = (rest + piece).split('\0');
      rest = messages.pop();
      for (const message of messages) this.take(JSON.parse(message));
    });
  }

  take({ id, method, params, result, error, sessionId }) {
    if (id === undefined) { for (const listener of this.listeners) listener(method, params, sessionId); return; }
    const { resolve, reject, timer } = this.waiting.get(id);
    clearTimeout(timer);
    this.waiting.delete(id);
    if (error) reject(new Error(error.message)); else resolve(result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} did not answer`)), PATIENCE);
      this.waiting.set(id, { resolve, reject, timer });
    });
  }

  async page() {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId);
    await page.send('Page.enable');
    await page.send('Runtime.enable');
    await page.send('Log.enable');
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => { this.process.once('exit', resolve); });
    await this.send('Browser.close').catch(() => this.process.kill());
    await ended;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const KEYS = { Enter: 13, Tab: 9, ArrowDown: 40, ArrowUp: 38, ArrowRight: 39, ArrowLeft: 37, End: 35, Home: 36, F8: 119, Escape: 27 };

class Page {
  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
    this.complaints = [];
    browser.listeners.push((method, params, of) => {
      if (of !== session) return;
      if (method === 'Runtime.exceptionThrown') this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(params.type)) this.complaints.push(JSON.stringify(params.args));
      if (method === 'Log.entryAdded' && params.entry.level === 'error') this.complaints.push(`${params.entry.text} ${params.entry.url ?? ''}`);
    });
  }

  send(method, params) { return this.browser.send(method, params, this.session); }

  async look(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  // Waits until the expression is true in the page.
  async until(what, expression) {
    const end = Date.now() + PATIENCE;
    while (!(await this.look(expression))) {
      if (Date.now() > end) throw new Error(`not so within a minute: ${what}`);
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
  }

  async open(url) {
    await this.send('Page.navigate', { url: 'about:blank' });
    await this.send('Page.navigate', { url });
  }

  async size(width, height, { dark = false, scale = 1 } = {}) {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: scale, mobile: width < 600 });
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
  }

  async press(key, modifiers = 0) {
    const code = KEYS[key];
    const event = { key, code: key, windowsVirtualKeyCode: code, nativeVirtualKeyCode: code, modifiers };
    await this.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...event });
    if (key === 'Enter' && !modifiers) await this.send('Input.dispatchKeyEvent', { type: 'char', text: '\r', ...event });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  async type(text) { await this.send('Input.insertText', { text }); }

  async point(x, y) { await this.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y }); }

  async middle(selector) {
    return this.look(`(() => { const one = document.querySelector(${JSON.stringify(selector)}); one.scrollIntoView({ block: 'nearest' }); const box = one.getBoundingClientRect(); return { x: box.x + box.width / 2, y: box.y + box.height / 2 }; })()`);
  }

  async click(selector) {
    const { x, y } = await this.middle(selector);
    await this.point(x, y);
    for (const type of ['mousePressed', 'mouseReleased']) await this.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
  }

  async screenshot(file) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
    writeFileSync(file, Buffer.from(data, 'base64'));
  }
}
