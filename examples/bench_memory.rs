//! Codes buffers in memory on request, and says how long it took: the part of the benchmark that runs in this library.
//!
//! The argument names a file of jobs, one a line: `NAME TYPE LEVEL CONTENT REFERENCE`, with `-` for no reference, then perhaps a bank file, the levels of the command (1, 5, 9)
//! and files of raw elements. They are read once. Then each line on stdin asks for one operation, so that whoever drives this program can run other
//! codecs between two of them:
//!
//!     encode NAME    ->  SECONDS PROCESSOR-SECONDS CODED-BYTES
//!     decode NAME    ->  SECONDS PROCESSOR-SECONDS CONTENT-BYTES
//!
//! `decode` takes what the last `encode` of that name made, and compares with the content after the clock has stopped.
//!
//! Timed is what a caller pays who holds all in memory: one thread, every CRC, a new buffer for the result.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use memmap2::MmapMut;
use ulpack::{BankFile, Decoder, DecoderOptions, ElementType, Encoder, EncoderOptions, Level, Reference, Typing};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What one operation took.
struct Cost {
    wall: f64,
    cpu: f64,
}

/// Runs from creation on.
struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    fn start() -> Self {
        Self { cpu: processor_seconds(), wall: Instant::now() }
    }

    fn stop(&self) -> Cost {
        let wall = self.wall.elapsed().as_secs_f64();
        Cost { wall, cpu: processor_seconds() - self.cpu }
    }
}

/// Processor time of all threads so far; zero where the system does not say.
fn processor_seconds() -> f64 {
    let nanoseconds = |task: fs::DirEntry| -> Option<f64> {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(nanoseconds).sum::<f64>() / 1e9
}

struct Job {
    element: ElementType,
    level: Level,
    content: Arc<[u8]>,
    reference: Option<Arc<[u8]>>,
    bank: Option<Arc<BankFile>>,
    /// What the last `encode` made: the first bytes of this memory.
    coded: Option<MmapMut>,
    length: usize,
}

impl Job {
    fn references(&self) -> Vec<Reference> {
        self.reference.iter().map(|bytes| Reference::Bytes(Arc::clone(bytes))).collect()
    }

    fn encode(&mut self) -> Result<(Cost, usize)> {
        self.coded = None;
        let mut options = EncoderOptions::default();
        options.typing = Typing::Fixed(self.element);
        options.level = self.level;
        options.threads = 1;
        options.bank = self.bank.clone();
        let clock = Clock::start();
        // A stream is hardly longer than its content.
        let room = self.content.len() + self.content.len() / 64 + (1 << 16);
        let mut coded = memory(room)?;
        let encoder = Encoder::new(&mut coded[..], options, self.references())?;
        let (rest, _) = encoder.finish_with(&self.content)?;
        self.length = room - rest.len();
        let cost = clock.stop();
        self.coded = Some(coded);
        Ok((cost, self.length))
    }

    fn decode(&self) -> Result<(Cost, usize)> {
        let mut options = DecoderOptions::default();
        options.threads = 1;
        let clock = Clock::start();
        let mut content = memory(self.content.len())?;
        let coded = self.coded.as_ref().ok_or("nothing encoded")?;
        let mut decoder = Decoder::new(&coded[..self.length], options, self.references());
        decoder.read_exact(&mut content[..self.content.len()])?;
        if decoder.next_chunk()?.is_some() {
            return Err("the decoded content is longer".into());
        }
        let cost = clock.stop();
        if content[..self.content.len()] != *self.content {
            return Err("the decoded content differs".into());
        }
        Ok((cost, content.len()))
    }
}

/// Fresh memory such as numpy gives its arrays and the Python package its results, in huge pages where the system has them: the peers' results that are
/// arrays lie in such memory too.
fn memory(length: usize) -> Result<MmapMut> {
    let memory = MmapMut::map_anon(length.max(1))?;
    #[cfg(target_os = "linux")]
    memory.advise(memmap2::Advice::HugePage)?;
    Ok(memory)
}

/// Reads the jobs; a file that several jobs use is in memory once.
fn read_jobs(text: &str) -> Result<HashMap<String, Job>> {
    let mut files: HashMap<String, Arc<[u8]>> = HashMap::new();
    let mut read = |path: &str| -> Result<Arc<[u8]>> {
        if let Some(bytes) = files.get(path) {
            return Ok(Arc::clone(bytes));
        }
        let bytes: Arc<[u8]> = fs::read(path).map_err(|error| format!("{path}: {error}"))?.into();
        files.insert(path.to_owned(), Arc::clone(&bytes));
        Ok(bytes)
    };
    let mut jobs = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (&[name, element, level, content, reference], bank) = match words.split_first_chunk::<5>() {
            Some((words, [])) => (words, None),
            Some((words, [bank])) => (words, Some(*bank)),
            _ => return Err(format!("not a job: {line}").into()),
        };
        let bank = bank.map(|path| BankFile::parse(&fs::read(path)?).map_err(Box::<dyn Error>::from));
        let job = Job {
            element: ElementType::from_name(element).ok_or_else(|| format!("no element type: {element}"))?,
            level: match level {
                "1" => Level::Fast,
                "5" => Level::Default,
                "9" => Level::Small,
                _ => return Err(format!("no level: {level}").into()),
            },
            content: read(content)?,
            reference: if reference == "-" { None } else { Some(read(reference)?) },
            bank: bank.transpose()?.map(Arc::new),
            coded: None,
            length: 0,
        };
        jobs.insert(name.to_owned(), job);
    }
    Ok(jobs)
}

fn answer(jobs: &mut HashMap<String, Job>, line: &str) -> Result<(Cost, usize)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = words.get(1).ok_or("no job named")?;
    let job = jobs.get_mut(*name).ok_or_else(|| format!("no job: {name}"))?;
    match words[..] {
        ["encode", _] => job.encode(),
        ["decode", _] => job.decode(),
        _ => Err(format!("not a request: {line}").into()),
    }
}

fn serve() -> Result<()> {
    let path = env::args().nth(1).ok_or("usage: bench_memory JOBS")?;
    let mut jobs = read_jobs(&fs::read_to_string(path)?)?;
    let mut out = io::stdout().lock();
    writeln!(out, "ready {}", jobs.len())?;
    out.flush()?;
    for line in io::stdin().lock().lines() {
        match answer(&mut jobs, &line?) {
            Ok((Cost { wall, cpu }, bytes)) => writeln!(out, "{wall:.9} {cpu:.9} {bytes}")?,
            Err(error) => writeln!(out, "error {error}")?,
        }
        out.flush()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench_memory: {error}");
            ExitCode::FAILURE
        }
    }
}
