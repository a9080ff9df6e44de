//! Reads the tips of a push: objects of a repository, and of one pack that was received for it and is not installed.

use std::{sync::Arc, time::Instant};

use super::{
    ObjectId, ObjectKind, ObjectLimits, ObjectReader, ReadError, StoredObject, TAGS_MAX, first_header, loose::open,
    pack::Pack,
};
use crate::git::{Git, incoming::PackFiles};

/// Reads objects of a repository and of an incoming pack.
pub(in crate::git) struct TipReader {
    /// The incoming pack. It contains the bases of its deltas.
    incoming: Option<Pack>,
    stored: ObjectReader,
}

impl Git {
    /// Begins to read the tips of a push. Blocks the thread, as do all methods of the reader.
    pub(in crate::git) fn tip_reader(
        &self,
        repository: u64,
        files: Option<&PackFiles>,
    ) -> Result<TipReader, ReadError> {
        let limits = ObjectLimits::new(Instant::now() + self.timeout(), Arc::default(), None);
        let stored = self.object_reader(repository, limits)?;
        let Some(files) = files else { return Ok(TipReader { incoming: None, stored }) };
        let (Some(index), Some(data)) = (open(&files.index)?, open(&files.pack)?) else {
            return Err(ReadError::Damaged("an incoming pack is missing"));
        };
        let incoming = Pack::open("incoming".to_owned(), index, data, stored.store.id_bytes())?;
        Ok(TipReader { incoming: Some(incoming), stored })
    }
}

impl TipReader {
    /// Returns the type of an object.
    pub(in crate::git) fn kind(&mut self, id: &ObjectId) -> Result<Option<ObjectKind>, ReadError> {
        let ObjectReader { inflater, limits, .. } = &mut self.stored;
        limits.check_time()?;
        if let Some(pack) = &self.incoming
            && let Some(offset) = pack.find(id)?
        {
            return Ok(Some(pack.info(offset, inflater, limits)?.0));
        }
        Ok(self.stored.info(id)?.map(|(kind, _)| kind))
    }

    /// Returns the object to which a tag object leads, through other tags. `None`: the object is not a tag or does not
    /// exist. A missing target is an error.
    pub(in crate::git) fn peeled(&mut self, id: &ObjectId) -> Result<Option<ObjectId>, ReadError> {
        let mut at = *id;
        for _ in 0..TAGS_MAX {
            match self.kind(&at)? {
                Some(ObjectKind::Tag) => {}
                Some(_) => return Ok((at != *id).then_some(at)),
                None if at == *id => return Ok(None),
                None => return Err(ReadError::Damaged("the target of a tag is missing")),
            }
            let damaged = ReadError::Damaged("a tag");
            let Some(tag) = self.object(&at)? else { return Err(damaged) };
            at = first_header(&tag.content, b"object ").ok_or(damaged)?;
        }
        Err(ReadError::Unsupported("a long chain of tags"))
    }

    fn object(&mut self, id: &ObjectId) -> Result<Option<StoredObject>, ReadError> {
        let ObjectReader { inflater, limits, .. } = &mut self.stored;
        if let Some(pack) = &self.incoming
            && let Some(offset) = pack.find(id)?
        {
            return pack.object(offset, inflater, limits).map(Some);
        }
        self.stored.object(id)
    }
}
