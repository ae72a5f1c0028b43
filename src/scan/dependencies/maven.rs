//! `pom.xml` of Maven.
//!
//! Owns what of it is asked for, and which version: as it stands there, or as the file itself manages it, with the file's own properties put in. What a
//! parent, an imported list of versions or a profile adds is not known here, and plugins are no dependencies.
//!
//! Such a file may be a stranger's. It is gone through once, one event after the other (`quick-xml`): no tree is made of it, nothing calls itself for what
//! lies deeper, attributes are not looked at, and each word is cut. A file with a document type is refused, and an entity that XML does not define itself
//! is left as it is written. So nothing in it can grow but a property that names others, and that has a limit. Tests: below.

use std::collections::{HashMap, HashSet};

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

use super::{Format, Requirement, name_of};

pub(super) const FORMAT: Format = Format {
    ecosystem: "Maven",
    is_manifest: |path| name_of(path) == "pom.xml",
    manifest,
    locks: &[],
    plain: str::to_owned,
    released: |_| Vec::new(),
};

/// Characters of a word, and properties that are put in one.
const LONGEST: usize = 200;
const PUT_IN: usize = 16;
/// Where dependencies stand, and those that are only managed.
const ASKED: &str = "project/dependencies/dependency";
const MANAGED: &str = "project/dependencyManagement/dependencies/dependency";
/// The version of a module that is built together with this one.
const TOGETHER: &str = "${project.version}";

/// A dependency as it is written.
#[derive(Default)]
struct Written {
    group: String,
    artifact: String,
    version: String,
    /// Of its artifact, from 1 on.
    line: u64,
}

/// What a file says.
#[derive(Default)]
struct Project {
    /// Whether it is one.
    is_one: bool,
    /// Its properties, with what `${project.…}` stands for.
    values: HashMap<String, String>,
    asked: Vec<Written>,
    managed: Vec<Written>,
}

/// The elements that are open, as a path, and where in it each begins.
#[derive(Default)]
struct ElementPath {
    path: String,
    begins: Vec<usize>,
}

impl ElementPath {
    fn enter(&mut self, name: &str) {
        self.begins.push(self.path.len());
        if self.begins.len() > 1 {
            self.path.push('/');
        }
        self.path.push_str(name);
    }

    fn leave(&mut self) {
        self.path.truncate(self.begins.pop().unwrap_or_default());
    }
}

fn read(text: &str) -> Result<Project, String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let (mut project, mut place, mut word) = (Project::default(), ElementPath::default(), String::new());
    let (mut line, mut counted) = (1, 0);
    loop {
        let event = reader.read_event().map_err(|_| "it is no XML".to_owned())?;
        let end = usize::try_from(reader.buffer_position()).unwrap_or(text.len());
        let passed = text.as_bytes().get(counted..end).unwrap_or_default();
        line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        counted = end;
        match event {
            Event::Start(tag) => {
                place.enter(tag.local_name().into_inner());
                word.clear();
                project.begin(&place.path);
            }
            Event::End(_) => {
                project.end(&place.path, word.trim(), line);
                place.leave();
                word.clear();
            }
            Event::Text(part) => add(&mut word, &part),
            Event::CData(part) => add(&mut word, &part),
            Event::GeneralRef(entity) => add(&mut word, &of_entity(&entity)),
            Event::DocType(_) => return Err("it has a document type, which is not read".to_owned()),
            // An empty element comes as its start and its end.
            Event::Comment(_) | Event::Decl(_) | Event::Empty(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    match (place.begins.is_empty(), project.is_one) {
        (true, true) => Ok(project),
        (false, _) => Err("it is no XML".to_owned()),
        (true, false) => Err("it is no project of Maven".to_owned()),
    }
}

/// Adds to a word, as long as it is not too long.
fn add(word: &mut String, part: &str) {
    word.extend(part.chars().take(LONGEST.saturating_sub(word.len())));
}

/// What a character's number, or one of XML's own five entities, stands for.
fn of_entity(entity: &BytesRef<'_>) -> String {
    match entity.resolve_char_ref() {
        Ok(Some(character)) => character.to_string(),
        Ok(None) | Err(_) => {
            resolve_predefined_entity(entity).map_or_else(|| format!("&{};", &**entity), str::to_owned)
        }
    }
}

impl Project {
    fn begin(&mut self, path: &str) {
        match path {
            "project" => self.is_one = true,
            ASKED => self.asked.push(Written::default()),
            MANAGED => self.managed.push(Written::default()),
            _ => {}
        }
    }

    fn end(&mut self, path: &str, word: &str, line: u64) {
        let Some((within, name)) = path.rsplit_once('/') else { return };
        let dependency = match within {
            ASKED => self.asked.last_mut(),
            MANAGED => self.managed.last_mut(),
            _ => None,
        };
        match (dependency, within, name) {
            (Some(of), _, "groupId") => of.group = word.to_owned(),
            (Some(of), _, "artifactId") => (of.artifact, of.line) = (word.to_owned(), line),
            (Some(of), _, "version") => of.version = word.to_owned(),
            (None, "project/properties", _) => _ = self.values.insert(name.to_owned(), word.to_owned()),
            (None, "project" | "project/parent", "groupId" | "artifactId" | "version") => {
                self.values.insert(format!("{}.{name}", within.replace('/', ".")), word.to_owned());
            }
            _ => {}
        }
    }

    /// What a property stands for. A project without a group or a version has its parent's.
    fn value(&self, name: &str) -> Option<&str> {
        let of_parent = || self.values.get(&format!("project.parent.{}", name.strip_prefix("project.")?));
        self.values.get(name).or_else(of_parent).map(String::as_str)
    }

    /// A word with its properties put in; none where one is not known here, or where they don't end.
    fn resolved(&self, word: &str) -> Option<String> {
        let mut word = word.to_owned();
        for _ in 0..PUT_IN {
            let Some((before, rest)) = word.split_once("${") else { return Some(word) };
            let (name, behind) = rest.split_once('}')?;
            let value = self.value(name)?;
            if before.len() + value.len() + behind.len() > LONGEST {
                return None;
            }
            word = [before, value, behind].concat();
        }
        None
    }

    /// The same, or the word as it is written.
    fn word(&self, word: &str) -> String {
        self.resolved(word).unwrap_or_else(|| word.to_owned())
    }

    fn name(&self, of: &Written) -> String {
        format!("{}:{}", self.word(&of.group), self.word(&of.artifact))
    }
}

/// Whether it is one version: no range, and none that is looked for at each build.
fn is_one_version(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(['[', ']', '(', ')', ',', '$', '&', ' '])
        && !["LATEST", "RELEASE"].contains(&text)
}

/// Each package once with each version, for an artifact may be asked for in several forms; modules that are built together with this one are left out.
fn manifest(text: &str) -> Result<Vec<Requirement>, String> {
    let project = read(text)?;
    let managed: HashMap<String, &str> =
        project.managed.iter().map(|it| (project.name(it), it.version.as_str())).collect();
    let group = project.resolved("${project.groupId}");
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for it in project.asked.iter().filter(|it| !it.group.is_empty() && !it.artifact.is_empty()) {
        let name = project.name(it);
        let managed = || managed.get(&name).copied().unwrap_or_default();
        let written = if it.version.is_empty() { managed() } else { &it.version };
        let together = written == TOGETHER && group.as_ref() == Some(&project.word(&it.group));
        if together || !known.insert((name.clone(), written)) {
            continue;
        }
        let one = project.resolved(written).filter(|version| is_one_version(version));
        let version = project.word(written);
        found.push(Requirement { name, version, locked: one.into_iter().collect(), line: Some(it.line) });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    const POM: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
         xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 http://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>
  <parent>
    <groupId>org.example</groupId>
    <artifactId>parent</artifactId>
    <version>3.1.0</version>
    <relativePath/>
  </parent>
  <artifactId>shop</artifactId>
  <properties>
    <log4j.version>2.17.1</log4j.version>
    <jackson>${jackson.minor}.1</jackson>
    <jackson.minor>2.15</jackson.minor>
    <range>[9.4.35.v20201120,9.5)</range>
  </properties>
  <dependencyManagement>
    <dependencies>
      <dependency>
        <groupId>com.google.guava</groupId>
        <artifactId>guava</artifactId>
        <version>32.1.3-jre</version>
      </dependency>
      <dependency>
        <groupId>org.springframework.boot</groupId>
        <artifactId>spring-boot-dependencies</artifactId>
        <version>3.2.0</version>
        <type>pom</type>
        <scope>import</scope>
      </dependency>
    </dependencies>
  </dependencyManagement>
  <dependencies>
    <!-- <dependency><groupId>no</groupId><artifactId>no</artifactId></dependency> -->
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-core</artifactId>
      <version>${log4j.version}</version>
      <exclusions>
        <exclusion><groupId>x</groupId><artifactId>y</artifactId></exclusion>
      </exclusions>
    </dependency>
    <dependency>
      <groupId>com.google.guava</groupId>
      <artifactId>guava</artifactId>
    </dependency>
    <dependency><groupId>com.fasterxml.jackson.core</groupId><artifactId>jackson-databind</artifactId><version>${jackson}</version></dependency>
    <dependency><groupId>org.eclipse.jetty</groupId><artifactId>jetty-server</artifactId><version>${range}</version></dependency>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version> <![CDATA[4.13.2]]> </version><scope>test</scope></dependency>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><type>test-jar</type></dependency>
    <dependency><groupId>a&amp;b</groupId><artifactId>c</artifactId><version>${of.the.parent}</version></dependency>
    <dependency><groupId>d</groupId><artifactId>unversioned</artifactId></dependency>
    <dependency><groupId>${project.groupId}</groupId><artifactId>sibling</artifactId><version>${project.version}</version></dependency>
    <dependency><groupId>other</groupId><artifactId>e</artifactId><version>${project.version}</version></dependency>
    <dependency><groupId>other</groupId><artifactId>f</artifactId><version>${project.parent.version}</version></dependency>
    <dependency><groupId>other</groupId><artifactId>g</artifactId><version>LATEST</version></dependency>
  </dependencies>
  <build><plugins><plugin><groupId>p</groupId><artifactId>p</artifactId><dependencies><dependency><groupId>q</groupId></dependency></dependencies></plugin></plugins></build>
</project>
"#;

    fn found(text: &str) -> Vec<(String, String, String)> {
        manifest(text).unwrap().into_iter().map(|it| (it.name, it.version, it.locked.join(" "))).collect()
    }

    #[test]
    fn versions_are_found_in_the_file_itself() {
        let wanted = [
            ("org.apache.logging.log4j:log4j-core", "2.17.1", "2.17.1"),
            ("com.google.guava:guava", "32.1.3-jre", "32.1.3-jre"),
            ("com.fasterxml.jackson.core:jackson-databind", "2.15.1", "2.15.1"),
            ("org.eclipse.jetty:jetty-server", "[9.4.35.v20201120,9.5)", ""),
            ("junit:junit", "4.13.2", "4.13.2"),
            ("a&b:c", "${of.the.parent}", ""),
            ("d:unversioned", "", ""),
            ("other:e", "3.1.0", "3.1.0"),
            ("other:f", "3.1.0", "3.1.0"),
            ("other:g", "LATEST", ""),
        ];
        assert_eq!(found(POM), wanted.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
        let lines: Vec<_> = manifest(POM).unwrap().iter().filter_map(|it| it.line).collect();
        assert_eq!(lines[..3], [38, 46, 48]);
    }

    #[test]
    fn what_is_no_project_is_refused_and_so_is_a_document_type() {
        for bad in ["", "x", "<project>", "<project><a></project>", "<project>&", "</project>", "<html></html>"] {
            assert!(manifest(bad).is_err(), "{bad}");
        }
        let bomb = "<!DOCTYPE p [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><project><version>&b;</version></project>";
        assert!(manifest(bomb).is_err_and(|why| why.contains("document type")));
        let foreign = "<project><dependencies><dependency><groupId>a</groupId><artifactId>b</artifactId><version>&x;&#49;</version></dependency></dependencies></project>";
        assert_eq!(found(foreign), [("a:b".to_owned(), "&x;1".to_owned(), String::new())]);
        assert!(manifest("\u{feff}<project/>").unwrap().is_empty());
    }

    #[test]
    fn nothing_in_a_strangers_file_grows() {
        let many = 300_000;
        let deep = format!("<project>{}{}</project>", "<a>".repeat(many), "</a>".repeat(many));
        let attributes: String = (0..many).map(|n| format!(" a{n}=\"\"")).collect();
        let names: String = (0..many).map(|n| format!(" xmlns:a{n}=\"b\"")).collect();
        let dependency =
            "<dependency><groupId>${p0}</groupId><artifactId>a</artifactId><version>${loop}</version></dependency>";
        let doubled: String = (0..64).map(|n| format!("<p{n}>${{p{0}}}${{p{0}}}</p{n}>", n + 1)).collect();
        let properties = format!("{doubled}<p64>x</p64><loop>${{loop}}</loop><long>{}</long>", "x".repeat(1_000_000));
        let began = Instant::now();
        assert!(manifest(&deep).unwrap().is_empty());
        assert!(manifest(&format!("<project{attributes}{names}/>")).unwrap().is_empty());
        let text = format!(
            "<project><properties>{properties}</properties><dependencies>{}</dependencies></project>",
            dependency.repeat(20_000)
        );
        assert_eq!(found(&text), [("${p0}:a".to_owned(), "${loop}".to_owned(), String::new())]);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}
